"""The walkthrough: one sample failure taken through the engine's phases."""
