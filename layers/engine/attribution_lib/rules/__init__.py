"""Rules: model, loader, registry, cascades, the immutable engine, and the tests beside the rules."""
