"""`kohort …`: one thin command per question, on the functions of the other packages."""
