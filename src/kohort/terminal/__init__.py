"""What people see in a terminal: colours by role, tables, bars, ages, live views. Presentation only; knows no kind."""
