// Runs one model on inputs of several sizes; each size is prepared once and then remembered:
// dynamic_shape MODEL.onnx, a model with one picture input f32[1, channels, height, width].
#include <chrono>
#include <cstdio>

#include "fettle/fettle.hpp"

namespace {

double RunOnce(fettle::Session& session) {
  const auto start = std::chrono::steady_clock::now();
  session.Run().value();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

void RunSize(fettle::Session& session, const fettle::ValueInfo& input,
             const fettle::ValueInfo& output, int64_t height, int64_t width) {
  fettle::Tensor picture =
      fettle::Tensor::Create(FETTLE_F32, {1, input.dims[1], height, width}).value();
  float value = 0;
  for (float& element : picture.as<float>()) element = value = value < 1 ? value + 0.01f : 0;
  session.SetInput(input.name, picture).value();
  const double first = RunOnce(session), second = RunOnce(session);
  std::printf("%4dx%-4d ->", static_cast<int>(height), static_cast<int>(width));
  for (int64_t extent : session.Output(output.name).value().dims())
    std::printf(" %d", static_cast<int>(extent));
  std::printf("   first %.2f ms, again %.2f ms\n", first, second);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: dynamic_shape MODEL.onnx\n");
    return 2;
  }
  try {
    const fettle::Model model = fettle::Model::Load(argv[1]).value();
    const fettle::ValueInfo input = model.inputs().at(0), output = model.outputs().at(0);
    if (input.dims.size() != 4 || input.dims[1] < 1) {
      std::fprintf(stderr, "%s takes no picture\n", argv[1]);
      return 1;
    }
    fettle::Session session = fettle::Session::Create(model, {.threads = 0}).value();
    for (int64_t size : {32, 48, 64}) RunSize(session, input, output, size, 2 * size);
  } catch (const fettle::Error& error) {
    std::fprintf(stderr, "%s: %s\n", fettle_status_name(error.code()), error.what());
    return 1;
  }
  return 0;
}
