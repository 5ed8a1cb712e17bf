// make_demo_model PATH: writes the demonstration model.
#include <fmt/core.h>

#include "base/file.h"
#include "demo_model.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: make_demo_model PATH\n");
    return 2;
  }
  const fettle::Status status = fettle::WriteTextFile(argv[1], fettle::demo::DemoModel());
  if (status.ok()) return 0;
  fmt::print(stderr, "make_demo_model: {}\n", status.message());
  return 1;
}
