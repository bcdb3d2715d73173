"""The phases of an attribution in their order: extract, early, filter, refine, decide, collect, report."""
