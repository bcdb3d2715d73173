"""ENGINE: observation → events → phases → verdict. Pure: no AWS, no network, no environment, no clock reads."""
