"""SERVICE: the session lifecycle over a Store, and the enriched verdict that everything downstream reads."""
