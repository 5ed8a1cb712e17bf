#include "kernels/opencl/gemm/rung.h"

namespace fettle::kernels {
namespace {

cl_int ToInt(int64_t value) { return static_cast<cl_int>(value); }

}  // namespace

Result<std::unique_ptr<GemmLauncher>> GemmLauncher::Create(const GemmRung& rung,
                                                           const GemmShape& shape,
                                                           const Params& params,
                                                           const OpenClDevice& device,
                                                           bool relaxed_math) {
  std::unique_ptr<GemmLauncher> launcher(new GemmLauncher());
  launcher->shape_ = shape;
  launcher->setup_ = rung.setup(shape, params, device.facts());
  GemmSetup& setup = launcher->setup_;
  BuildOptions storage;
  storage.Define("FETTLE_HALF", shape.storage == DType::kF16 ? 1 : 0);
  if (relaxed_math) storage.Add("-cl-fast-relaxed-math");
  BuildOptions options = storage;
  if (!setup.options.text().empty()) options.Add(setup.options.text());
  ASSIGN_OR_RETURN(launcher->kernel_, device.BuildKernel(MakeProgram(rung.source, options),
                                                         std::string(rung.function)));
  if (setup.parts > 0) {
    ASSIGN_OR_RETURN(launcher->sum_, device.BuildKernel(MakeProgram("gemm/split_sum.cl", storage),
                                                        "gemm_split_sum"));
    launcher->workspace_bytes_ = setup.parts * shape.m * shape.n * ByteSize(DType::kF32);
  }
  if (setup.extents.empty()) setup.extents = {ToInt(shape.m), ToInt(shape.n), ToInt(shape.k)};
  return launcher;
}

Status GemmLauncher::Launch(OpenClStream& stream, const Location& a, const Location& b,
                            const Location& c, const Location& workspace) const {
  const int64_t element = ByteSize(shape_.storage);
  ArgList args;
  for (const cl_int extent : setup_.extents) args.Value(extent);
  args.Tensor(a, element).Tensor(b, element);
  if (sum_ == nullptr)
    args.Tensor(c, element);
  else
    args.Tensor(workspace, ByteSize(DType::kF32));
  for (const KernelArg& arg : setup_.more) args.Append(arg);
  RETURN_IF_ERROR(stream.Launch(*kernel_, setup_.sizes, args.args()));
  if (sum_ == nullptr) return OkStatus();
  ArgList sum;
  sum.Value(ToInt(shape_.m)).Value(ToInt(shape_.n)).Value(ToInt(setup_.parts));
  sum.Tensor(workspace, ByteSize(DType::kF32)).Tensor(c, element);
  const WorkSizes sizes{.gws = {static_cast<size_t>(shape_.n), static_cast<size_t>(shape_.m), 1}};
  return stream.Launch(*sum_, sizes, sum.args());
}

}  // namespace fettle::kernels
