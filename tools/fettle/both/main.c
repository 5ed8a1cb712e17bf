/* The program, where it lies in a library beside it. */
int fettle_program(int argc, char** argv);

int main(int argc, char** argv) { return fettle_program(argc, argv); }
