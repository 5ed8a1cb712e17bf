// A user's project: one model input to one output through the installed library.
#include <cstdio>

#include "fettle/fettle.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  fettle::Result<fettle::Model> missing = fettle::Model::Load("no such file");
  if (missing.ok() || missing.code() != FETTLE_NOT_FOUND) return 1;
  fettle::Model model = fettle::Model::Load(argv[1]).value();
  fettle::Session session = fettle::Session::Create(model).value();
  fettle::Tensor input = fettle::Tensor::Create(FETTLE_F32, {1, 3, 8, 8}).value();
  session.SetInput(model.inputs()[0].name, input).value();
  session.Run().value();
  const auto dims = session.Output(model.outputs()[0].name).value().dims();
  std::printf("fettle %s: %zu extents\n", fettle_version(), dims.size());
  return dims.size() == 4 && dims[3] == 16 ? 0 : 1;
}
