# Small programs that show one cause of interference each.
