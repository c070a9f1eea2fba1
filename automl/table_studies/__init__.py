"""Learning from folders of tables: what families of algorithms give on each of them."""
