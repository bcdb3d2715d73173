"""The adapters of the read port: ``sqlite`` (the orchestrator's database) and ``store`` (the service's tables)."""
