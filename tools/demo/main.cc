// fettle-demo DIR: writes DIR/enhance_x2.onnx and DIR/landscape.png.
// fettle-demo --before-after BEFORE AFTER RESULT: writes a picture that is half of each.
#include <fmt/core.h>

#include <string>

#include "base/file.h"
#include "before_after.h"
#include "demo_model.h"
#include "io/picture.h"
#include "landscape.h"

namespace fettle::demo {
namespace {

Status WriteDemo(const std::string& directory) {
  RETURN_IF_ERROR(WriteTextFile(directory + "/enhance_x2.onnx", DemoModel()));
  return tools::WritePicture(directory + "/landscape.png", RenderLandscape(384, 256));
}

Status WriteBeforeAfter(const std::string& before, const std::string& after,
                        const std::string& result) {
  ASSIGN_OR_RETURN(const tools::Picture first, tools::ReadPicture(before));
  ASSIGN_OR_RETURN(const tools::Picture second, tools::ReadPicture(after));
  ASSIGN_OR_RETURN(const tools::Picture both, BeforeAfter(first, second));
  return tools::WritePicture(result, both);
}

}  // namespace
}  // namespace fettle::demo

int main(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  const bool before_after = argc == 5 && first == "--before-after";
  const bool wants_help = first == "--help" || first == "-h";
  if (wants_help || (!before_after && (argc != 2 || first.starts_with("-")))) {
    fmt::print(wants_help ? stdout : stderr,
               "usage: fettle-demo DIR\n"
               "         writes DIR/enhance_x2.onnx and DIR/landscape.png\n"
               "       fettle-demo --before-after BEFORE AFTER RESULT\n"
               "         writes a picture that is half of each\n");
    return wants_help ? 0 : 2;
  }
  const fettle::Status status = before_after
                                    ? fettle::demo::WriteBeforeAfter(argv[2], argv[3], argv[4])
                                    : fettle::demo::WriteDemo(argv[1]);
  if (status.ok()) return 0;
  fmt::print(stderr, "fettle-demo: {}\n", status.message());
  return 1;
}
