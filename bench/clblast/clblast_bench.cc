// clblast_bench [DEVICE [SIZE...]]: square f32 products on one OpenCL device, the rungs for large
// products beside the packaged CLBlast in the same run, turn by turn. CLBlast is opened at run time
// (libclblast.so.1, or what CLBLAST_LIBRARY names): nothing is linked against it.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "io/inputs.h"
#include "jobs/opencl_timing.h"
#include "kernels/opencl/gemm/matrices.h"

namespace fettle::tools {
namespace {

using kernels::GemmMatrices;
using kernels::MatrixForm;

constexpr int kRowMajor = 101, kNotTransposed = 111;  // of CLBlast's C interface
using Sgemm = int (*)(int layout, int trans_a, int trans_b, size_t m, size_t n, size_t k,
                      float alpha, cl_mem a, size_t a_offset, size_t a_pitch, cl_mem b,
                      size_t b_offset, size_t b_pitch, float beta, cl_mem c, size_t c_offset,
                      size_t c_pitch, cl_command_queue* queue, cl_event* event);

Sgemm FindSgemm() {
  const char* const named = std::getenv("CLBLAST_LIBRARY");
  void* const library = dlopen(named != nullptr ? named : "libclblast.so.1", RTLD_NOW);
  if (library == nullptr) {
    fmt::print(stderr, "CLBlast: {}\n", dlerror());
    return nullptr;
  }
  return reinterpret_cast<Sgemm>(dlsym(library, "CLBlastSgemm"));
}

/// One way to make the product.
struct Contender {
  std::string name;
  std::function<Status()> launch;
  double best_ms = 0;
  bool verified = false;
};

constexpr int kTurns = 5, kIters = 10;
constexpr double kMostSeconds = 2;

Status Compete(std::vector<Contender>& contenders, GemmMatrices& matrices, OpenClStream& stream) {
  for (Contender& contender : contenders) {
    RETURN_IF_ERROR(matrices.FreshC(MatrixForm::kRows).status());
    RETURN_IF_ERROR(contender.launch());
    ASSIGN_OR_RETURN(const Tensor result, matrices.ReadC(MatrixForm::kRows));
    contender.verified = matrices.Verify(result).ok();
  }
  for (int turn = 0; turn < kTurns; ++turn) {
    for (Contender& contender : contenders) {
      ASSIGN_OR_RETURN(const LaunchTimes times,
                       TimeLaunches(contender.launch, stream, 2, kIters, kMostSeconds));
      if (turn == 0 || times.ms < contender.best_ms) contender.best_ms = times.ms;
    }
  }
  return OkStatus();
}

Status RunSize(int64_t size, const std::shared_ptr<OpenClDevice>& device, Sgemm sgemm) {
  ASSIGN_OR_RETURN(const auto stream, OpenClStream::Create(device));
  const kernels::GemmShape shape{.m = size, .n = size, .k = size};
  ASSIGN_OR_RETURN(Tensor left, SeedTensor("a", DType::kF32, {1, size, size}, false, 0));
  ASSIGN_OR_RETURN(Tensor right, SeedTensor("b", DType::kF32, {1, size, size}, false, 0));
  GemmMatrices matrices(shape, std::move(left), std::move(right), *device, *stream);
  ASSIGN_OR_RETURN(const Location a, matrices.A(MatrixForm::kRows));
  ASSIGN_OR_RETURN(const Location b, matrices.B(MatrixForm::kRows));
  ASSIGN_OR_RETURN(const Location c, matrices.FreshC(MatrixForm::kRows));
  std::vector<Contender> contenders;
  for (const char* name : {"opencl.gemm.registers", "opencl.gemm.local"}) {
    const kernels::GemmRung& rung = *kernels::FindGemmRung(name);
    ASSIGN_OR_RETURN(
        std::shared_ptr<kernels::GemmLauncher> launcher,
        kernels::GemmLauncher::Create(rung, shape, rung.defaults(shape, device->facts()), *device));
    contenders.push_back({name, [=, &stream] { return launcher->Launch(*stream, a, b, c, {}); }});
  }
  if (sgemm != nullptr) {
    contenders.push_back(
        {"CLBlast", [=, &stream] {
           const auto pitch = static_cast<size_t>(size);
           const auto memory = [](const Location& at) { return static_cast<cl_mem>(at.base); };
           cl_command_queue queue = stream->queue();
           const int status = sgemm(kRowMajor, kNotTransposed, kNotTransposed, pitch, pitch, pitch,
                                    1.0f, memory(a), 0, pitch, memory(b), 0, pitch, 0.0f, memory(c),
                                    0, pitch, &queue, nullptr);
           return status == 0 ? OkStatus() : Error(StatusCode::kDeviceError, "CLBlast: {}", status);
         }});
  }
  RETURN_IF_ERROR(Compete(contenders, matrices, *stream));
  const double gflop = 2e-6 * static_cast<double>(size) * static_cast<double>(size * size);
  for (const Contender& contender : contenders)
    fmt::print("{:6} {:24} {:10.3f} ms {:10.1f} GFLOP/s{}\n", size, contender.name,
               contender.best_ms, gflop / contender.best_ms, contender.verified ? "" : "  WRONG");
  return OkStatus();
}

Status Run(int count, char** values) {
  ASSIGN_OR_RETURN(const auto device, OpenClDevice::Open(count > 1 ? values[1] : ""));
  fmt::print("{} ({})\n", device->facts().name, device->facts().platform);
  std::vector<int64_t> sizes;
  for (int i = 2; i < count; ++i) sizes.push_back(std::max(1, std::atoi(values[i])));
  if (sizes.empty()) sizes = {256, 512, 1024, 2048};
  const Sgemm sgemm = FindSgemm();
  for (const int64_t size : sizes) RETURN_IF_ERROR(RunSize(size, device, sgemm));
  return OkStatus();
}

}  // namespace
}  // namespace fettle::tools

int main(int argc, char** argv) {
  const fettle::Status status = fettle::tools::Run(argc, argv);
  if (!status.ok()) fmt::print(stderr, "clblast_bench: {}\n", status.message());
  return status.ok() ? 0 : 1;
}
