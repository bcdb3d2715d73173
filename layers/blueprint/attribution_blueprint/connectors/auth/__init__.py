"""How requests of telemetry connectors prove who sends them, and whom they trust: bearer tokens, mutual TLS."""
