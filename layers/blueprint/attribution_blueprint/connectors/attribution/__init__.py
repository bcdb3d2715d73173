"""How verdicts are had: of the service in this process, or over HTTP."""
