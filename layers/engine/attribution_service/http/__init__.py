"""The edge: API Gateway events to calls of the service, and what it says back to HTTP answers. It decides nothing."""
