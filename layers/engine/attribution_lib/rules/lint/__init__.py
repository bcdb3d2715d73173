"""Lint: one-class checks over loaded rules and their samples. A check has an id, a severity and one sentence."""
