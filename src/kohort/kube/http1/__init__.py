"""HTTP/1.1 as a client of one server speaks it: lean, because a manager's CPU goes to its requests and watches."""
