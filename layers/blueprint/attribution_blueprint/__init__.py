"""ORCHESTRATOR: from a scheduler and its telemetry to stored verdicts; here also case folders and loose files."""
