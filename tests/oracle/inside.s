// Lets the compiler accept the functions without bodies in inside.go.
