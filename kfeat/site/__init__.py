"""The published results as static pages: rows and configs -> views of plain values -> templates -> files."""
