"""From the bytes of the wire to an ``Observation``; ``observation_parse`` is the way in."""
