"""Tables and pictures made from records; matplotlib is imported only while one is drawn."""
