"""`kohort demo`: two teams share quota on a temporary cluster."""
