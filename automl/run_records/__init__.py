"""What the stages of a run leave behind: frozen records that write and read themselves."""
