// The fettle program; docs/cli.md describes it.
#include "commands/program.h"

int main(int argc, char** argv) { return fettle::tools::RunProgram(argc, argv); }
