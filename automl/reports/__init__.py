"""Tables and pictures made from records (SPEC P); matplotlib is imported only while one is drawn."""
