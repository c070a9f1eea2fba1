"""What trials take: measured seconds, a model of them, and what it says of the trials to come."""
