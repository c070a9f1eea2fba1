"""What people read of a run on the terminal and on the pages: results, stories, tables."""
