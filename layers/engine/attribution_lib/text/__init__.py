"""From raw bytes to addressable lines: normalisation, line prefixes, time stamps."""
