"""Which configurations other data sets recommend, and what they say of the scores to come."""
