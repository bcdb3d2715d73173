"""DASHBOARD: pages over stored verdicts: readers give verdicts, builders make contexts, templates show them."""
