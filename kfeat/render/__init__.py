"""From numbers to what a person looks at: tables, figures, pages."""
