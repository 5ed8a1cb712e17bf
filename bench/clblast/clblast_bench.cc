// clblast_bench [DEVICE [SIZE...]]: square f32 products on one OpenCL device, the kernels for large
// products beside the packaged CLBlast in the same run, turn by turn. CLBlast is opened at run time
// (libclblast.so.1, or what CLBLAST_LIBRARY names): nothing is linked against it.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "io/inputs.h"
#include "jobs/opencl_timing.h"
#include "kernels/backend.h"
#include "kernels/check/bound_kernel.h"
#include "ops/op.h"
#include "runtime/product/product_graph.h"
#include "tensor/compare.h"

namespace fettle::tools {
namespace {

using kernels::BoundKernel;

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

/// A table's kernel on A and B, ready to be launched.
Result<BoundKernel> Bind(const char* name, int64_t size, const OpenClDevice& device,
                         const Tensor& a, const Tensor& b, OpenClStream& stream) {
  ASSIGN_OR_RETURN(ir::Graph graph, runtime::ProductGraph({.m = size, .n = size, .k = size}));
  RETURN_IF_ERROR(ops::InferGraph(graph));
  const kernels::KernelDesc& kernel = *kernels::FindKernel(name);
  const auto group = std::make_shared<const ir::Graph>(std::move(graph));
  ASSIGN_OR_RETURN(const auto states, kernels::CandidatesOf(kernel, *group, device));
  const kernels::Problem problem{group, states.front(), 1};
  ASSIGN_OR_RETURN(std::unique_ptr<kernels::PreparedKernel> prepared,
                   kernels::PrepareKernel(kernel, problem,
                                          kernels::DefaultParams(kernel, problem, device), device));
  const kernels::Operands operands = kernels::OperandsOf(problem);
  const auto memory = std::make_shared<kernels::OperandMemory>();
  RETURN_IF_ERROR(Allocate(operands, false, device, *memory));
  ASSIGN_OR_RETURN(BoundKernel bound,
                   BoundKernel::Bind(std::move(prepared), operands, group.get(), memory, device));
  const std::span<const std::byte> inputs[] = {a.bytes(), b.bytes()};
  RETURN_IF_ERROR(bound.WriteInputs(inputs, stream));
  return bound;
}

/// Whether `c` is what another way to the product gave.
bool Agrees(const std::byte* c, const Tensor& want, int64_t size) {
  const Tensor got = Tensor::Borrow(DType::kF32, want.shape(), const_cast<std::byte*>(c));
  return Compare(got.view(), want.view(),
                 KernelTolerance(DType::kF32, size, static_cast<double>(size)))
      .ok();
}

Status Compete(std::vector<Contender>& contenders, OpenClStream& stream) {
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
  ASSIGN_OR_RETURN(const Tensor a, SeedTensor("a", DType::kF32, {size, size}, false, 0));
  ASSIGN_OR_RETURN(const Tensor b, SeedTensor("b", DType::kF32, {size, size}, false, 0));
  ASSIGN_OR_RETURN(const Tensor first, Tensor::Create(DType::kF32, {size, size}));
  std::vector<std::shared_ptr<BoundKernel>> bound;
  std::vector<Contender> contenders;
  for (const char* name : {"opencl.matmul.registers", "opencl.matmul.local"}) {
    ASSIGN_OR_RETURN(BoundKernel kernel, Bind(name, size, *device, a, b, *stream));
    bound.push_back(std::make_shared<BoundKernel>(std::move(kernel)));
    const auto ours = bound.back();
    RETURN_IF_ERROR(ours->Launch(*stream));
    RETURN_IF_ERROR(ours->Fetch(*stream));
    const auto bytes = static_cast<size_t>(first.bytes().size());
    if (bound.size() == 1) std::memcpy(first.data(), ours->output(0), bytes);
    // The second, and CLBlast, against the first: three programs that share no line.
    contenders.push_back({name, [ours, &stream] { return ours->Launch(*stream); }, 0,
                          Agrees(ours->output(0), first, size)});
  }
  std::vector<std::shared_ptr<DeviceMemory>> memory;
  for (const Tensor* operand : {&a, &b, &first}) {
    const auto bytes = static_cast<int64_t>(operand->bytes().size());
    ASSIGN_OR_RETURN(auto one, device->Allocate({.kind = MemoryKind::kBuffer, .bytes = bytes}));
    RETURN_IF_ERROR(stream->Write(*one, 0, operand->data(), bytes));
    memory.push_back(std::move(one));
  }
  if (sgemm != nullptr) {
    const auto launch = [&] {
      const auto pitch = static_cast<size_t>(size);
      const auto at = [&](size_t i) { return static_cast<cl_mem>(memory[i]->base()); };
      cl_command_queue queue = stream->queue();
      const int status =
          sgemm(kRowMajor, kNotTransposed, kNotTransposed, pitch, pitch, pitch, 1.0f, at(0), 0,
                pitch, at(1), 0, pitch, 0.0f, at(2), 0, pitch, &queue, nullptr);
      return status == 0 ? OkStatus() : Error(StatusCode::kDeviceError, "CLBlast: {}", status);
    };
    RETURN_IF_ERROR(launch());
    ASSIGN_OR_RETURN(const Tensor c, Tensor::Create(DType::kF32, {size, size}));
    RETURN_IF_ERROR(stream->Read(c.data(), *memory[2], 0, static_cast<int64_t>(c.bytes().size())));
    contenders.push_back({"CLBlast", launch, 0, Agrees(c.data(), first, size)});
  }
  RETURN_IF_ERROR(Compete(contenders, *stream));
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
