#include "kernels/opencl/matmul/prepare.h"

#include <mutex>

#include "kernels/opencl/constant_floats.h"
#include "kernels/opencl/expression/expression.h"
#include "kernels/opencl/gemm/warp_tile.h"
#include "kernels/opencl/matmul/forms.h"
#include "kernels/opencl/matmul/padding.h"
#include "kernels/opencl/states.h"
#include "kernels/packed_images.h"

namespace fettle::kernels {
namespace {

/// Rows of [k, n], or of [n, k] where the setup wants that, `b_pitch` elements long, zero behind
/// their end.
PackRequest PackB(const Product& p, const GemmSetup& setup, DType storage) {
  const int64_t rows = p.trans_b ? p.n : p.k, columns = p.trans_b ? p.k : p.n;
  const bool transposes = p.trans_b != setup.b_by_columns;
  const int64_t width = transposes ? rows : columns;
  const int64_t pitch = setup.b_pitch == 0 ? width : setup.b_pitch;
  const int64_t elements = (transposes ? columns : rows) * pitch;
  PackRequest request;
  request.constants = {p.b};
  request.recipe = fmt::format("opencl.matmul.{}{}.{}", setup.b_by_columns ? "nk" : "kn",
                               transposes ? ".t" : "", DTypeName(storage));
  if (pitch != width) request.recipe += fmt::format(".pitch{}", pitch);
  if (setup.rounds) request.recipe += ".tf32";
  request.bytes = StorageBytes(storage, p.b_matrices * elements);
  request.pack = [=, has_gaps = pitch != width, rounds = setup.rounds, bytes = request.bytes,
                  matrices = p.b_matrices](std::span<const Constant* const> constants,
                                           std::byte* out) {
    if (has_gaps) std::memset(out, 0, bytes);
    for (int64_t z = 0; z < matrices; ++z)
      StoreMatrix(*constants[0],
                  {.first = z * rows * columns,
                   .rows = rows,
                   .columns = columns,
                   .transposes = transposes,
                   .to = z * elements,
                   .pitch = pitch},
                  storage, out);
    if (rounds) RoundToTf32(std::span(reinterpret_cast<uint32_t*>(out), bytes / sizeof(uint32_t)));
    return OkStatus();
  };
  return request;
}

/// The image that PackB's bytes are.
MemoryRequest ImageOfB(const PackRequest& packed, int64_t pitch, DType storage) {
  return {.kind = MemoryKind::kImage2d,
          .bytes = packed.bytes,
          .width = pitch / 4,
          .height = packed.bytes / StorageBytes(storage, pitch),
          .storage = storage};
}

PackRequest PackRow(const Product& p, int64_t elements, DType storage) {
  PackRequest request;
  request.constants = {p.addend};
  request.recipe = fmt::format("opencl.matmul.row.{}", DTypeName(storage));
  request.bytes = StorageBytes(storage, elements);
  request.pack = [elements, storage](std::span<const Constant* const> constants, std::byte* out) {
    const ConstantFloats row(*constants[0]);
    for (int64_t i = 0; i < elements; ++i) StoreFloat(row[i], storage, i, out);
    return OkStatus();
  };
  return request;
}

/// Bytes at whose multiples the operands of aligned programs begin.
constexpr int64_t kWidestVector = 64;

/// What options of programs say that read aligned vectors.
constexpr std::string_view kAligned = "ALIGNED=1";

/// The program of operands at other places, built where the first such launch asks for it: few
/// products are given such operands. Thread-safe. The device outlives it.
class UnalignedKernel {
 public:
  UnalignedKernel(const OpenClDevice& device, ProgramSource source, std::string function)
      : device_(device), source_(std::move(source)), function_(std::move(function)) {
    std::string& text = source_.options;
    for (size_t at; (at = text.find(kAligned)) != std::string::npos;)
      text[at + kAligned.size() - 1] = '0';
  }

  Result<const OpenClKernel*> Get() {
    const std::lock_guard lock(mutex_);
    if (kernel_ == nullptr) {
      ASSIGN_OR_RETURN(kernel_, device_.BuildKernel(source_, function_));
    }
    return kernel_.get();
  }

 private:
  const OpenClDevice& device_;
  ProgramSource source_;
  std::string function_;
  std::mutex mutex_;
  std::shared_ptr<OpenClKernel> kernel_;
};

class MatMul final : public PreparedKernel, public PacksImages {
 public:
  MatMul(const Problem& problem, Product product, const GemmShape& shape, GemmSetup setup,
         Expression expression, std::optional<RowNorm> norm)
      : p_(std::move(product)),
        shape_(shape),
        setup_(std::move(setup)),
        expression_(std::move(expression)),
        norm_(std::move(norm)) {
    a_ = InputIndex(*problem.group, p_.a);
    if (!p_.constant_b) b_ = InputIndex(*problem.group, p_.b);
    if (p_.addend != ir::kAbsent && !p_.constant_row)
      addend_ = InputIndex(*problem.group, p_.addend);
    a_is_image_ = problem.states.inputs[a_].memory == MemoryKind::kImage2d;
    if (setup_.extents.empty()) setup_.extents = {Int(shape.m), Int(shape.n), Int(shape.k)};
    if (p_.constant_b) packs_.push_back(PackB(p_, setup_, shape.storage));
    if (setup_.b_in_image) b_image_ = ImageOfB(packs_[0], setup_.b_pitch, shape.storage);
    row_pack_ = packs_.size();
    if (p_.constant_row)
      packs_.push_back(PackRow(p_, p_.addend_column_stride == 0 ? 1 : p_.n, shape.storage));
    norm_pack_ = packs_.size();
    if (norm_) packs_.insert(packs_.end(), norm_->packs.begin(), norm_->packs.end());
    own_packs_ = packs_.size();
    packs_.insert(packs_.end(), expression_.packs().begin(), expression_.packs().end());
  }

  /// Builds the program; where it makes parts, also the one that adds them up; where rows are
  /// copied before, that one.
  Status Build(const OpenClDevice& device, Arithmetic arithmetic) {
    const bool is_split = setup_.parts > 0;
    ASSIGN_OR_RETURN(padding_, ProductPadding::Create(setup_, shape_.storage, device));
    BuildOptions options = Options(device, arithmetic, !is_split);
    if (!setup_.options.text().empty()) options.Add(setup_.options.text());
    const ProgramSource source =
        MakeProgram(setup_.path, options, is_split ? std::string() : expression_.text());
    ASSIGN_OR_RETURN(kernel_, device.BuildKernel(source, std::string(setup_.function)));
    if (is_split) {
      ASSIGN_OR_RETURN(sum_, device.BuildKernel(
                                 MakeProgram("gemm/split_sum.cl", Options(device, arithmetic, true),
                                             expression_.text()),
                                 "gemm_split_sum"));
    }
    if (source.options.find(kAligned) != std::string::npos)
      unaligned_ = std::make_unique<UnalignedKernel>(device, source, std::string(setup_.function));
    return OkStatus();
  }

  std::vector<PackRequest> packs() const override { return packs_; }
  const MemoryRequest* packed_image(size_t i) const override {
    return i == 0 && setup_.b_in_image ? &b_image_ : nullptr;
  }

  int64_t workspace_bytes() const override {
    return PaddedAt() + padding_.bytes() +
           StorageBytes(DType::kF32, setup_.parts * shape_.m * shape_.n);
  }

  Status Launch(const LaunchArgs& args) const override {
    const int64_t element = StorageBytes(shape_.storage, 1);
    Location a = args.inputs[a_], b = p_.constant_b ? args.packed[0] : args.inputs[b_];
    const Location c = args.outputs[0];
    Location padded = args.workspace;
    padded.offset += PaddedAt();
    RETURN_IF_ERROR(padding_.Launch(OpenClStreamOf(args), padded, a, b));
    int64_t offsets = a.offset | b.offset | c.offset | args.outputs.back().offset;
    for (size_t i = norm_pack_; i < own_packs_; ++i) offsets |= args.packed[i].offset;
    const bool is_aligned = offsets % kWidestVector == 0;
    ArgList list;
    for (const cl_int extent : setup_.extents) list.Value(extent);
    list.Tensor(setup_.swaps ? b : a, element).Tensor(setup_.swaps ? a : b, element);
    if (sum_ == nullptr)
      list.Tensor(c, element);
    else
      list.Tensor(args.workspace, StorageBytes(DType::kF32, 1));
    for (const KernelArg& arg : setup_.more) list.Append(arg);
    if (setup_.shared_bytes > 0)
      list.Tensor(args.workspace, kTilePartBytes).Memory(OpenClStreamOf(args).tickets());
    if (sum_ == nullptr) AppendFinish(args, list);
    if (norm_) AppendNorm(args, list);
    const OpenClKernel* kernel = kernel_.get();
    if (!is_aligned && unaligned_ != nullptr) {
      ASSIGN_OR_RETURN(kernel, unaligned_->Get());
    }
    RETURN_IF_ERROR(OpenClStreamOf(args).Launch(*kernel, setup_.sizes, list.args()));
    return sum_ == nullptr ? OkStatus() : AddUp(args);
  }

 private:
  static cl_int Int(int64_t value) { return static_cast<cl_int>(value); }
  bool HasAddend() const { return p_.addend != ir::kAbsent || p_.alpha != 1; }

  /// What all programs of the product are built with; the one that `finishes` takes the addend.
  BuildOptions Options(const OpenClDevice& device, Arithmetic arithmetic, bool finishes) const {
    BuildOptions options;
    options.Define("FETTLE_HALF", shape_.storage == DType::kF16 ? 1 : 0);
    if (shape_.storage == DType::kBF16) options.Define("FETTLE_BFLOAT", 1);
    DefineArithmetic(arithmetic, device, options);
    options.Define("ADDEND", finishes && HasAddend() ? 1 : 0);
    return options;
  }

  /// Where copies of operands lie in the workspace: behind the parts of tiles.
  int64_t PaddedAt() const { return DivideUp(setup_.shared_bytes, kWidestVector) * kWidestVector; }

  /// The parts in the workspace, finished.
  Status AddUp(const LaunchArgs& args) const {
    ArgList list;
    list.Value(Int(shape_.m)).Value(Int(shape_.n)).Value(Int(setup_.parts));
    list.Tensor(args.workspace, StorageBytes(DType::kF32, 1));
    list.Tensor(args.outputs[0], StorageBytes(shape_.storage, 1));
    AppendFinish(args, list);
    const WorkSizes sizes{.gws = {static_cast<size_t>(shape_.n), static_cast<size_t>(shape_.m), 1}};
    return OpenClStreamOf(args).Launch(*sum_, sizes, list.args());
  }

  /// The addend and the expression.
  void AppendFinish(const LaunchArgs& args, ArgList& list) const {
    if (HasAddend()) AppendAddend(args, list);
    expression_.AppendArgs(args, own_packs_, list);
  }

  /// What gemm/normed_rows.clh takes; the tickets where those of shared tiles are not there.
  void AppendNorm(const LaunchArgs& args, ArgList& list) const {
    if (setup_.shared_bytes == 0) list.Memory(OpenClStreamOf(args).tickets());
    list.Value(Int(norm_->first_ticket));
    if (args.outputs.size() > 1) list.Tensor(args.outputs.back(), StorageBytes(shape_.storage, 1));
    for (size_t i = 0; i < norm_->packs.size(); ++i)
      list.Tensor(args.packed[norm_pack_ + i], sizeof(float));
    list.Value(norm_->epsilon);
  }

  void AppendAddend(const LaunchArgs& args, ArgList& list) const {
    const bool is_there = p_.addend != ir::kAbsent;
    // Without one any buffer is named and, its factor being 0, not read.
    const Location d = !is_there         ? (a_is_image_ ? Location{} : args.inputs[a_])
                       : p_.constant_row ? args.packed[row_pack_]
                                         : args.inputs[addend_];
    list.Value(p_.alpha).Value(is_there ? p_.beta : 0.0f);
    list.Tensor(d, StorageBytes(shape_.storage, 1));
    list.Value(Int(p_.addend_row_stride)).Value(Int(p_.addend_column_stride));
  }

  Product p_;
  GemmShape shape_;
  GemmSetup setup_;
  Expression expression_;
  std::optional<RowNorm> norm_;
  size_t a_ = 0, b_ = 0, addend_ = 0;
  bool a_is_image_ = false;
  std::vector<PackRequest> packs_;
  MemoryRequest b_image_;
  size_t row_pack_ = 0, norm_pack_ = 0, own_packs_ = 0;
  std::shared_ptr<OpenClKernel> kernel_, sum_;
  std::unique_ptr<UnalignedKernel> unaligned_;
  ProductPadding padding_;
};

}  // namespace

Result<std::unique_ptr<PreparedKernel>> PrepareProduct(const Problem& problem, const Device& device,
                                                       Product product, const GemmShape& shape,
                                                       GemmSetup setup, Arithmetic arithmetic,
                                                       std::optional<RowNorm> norm) {
  const ir::Graph& group = *problem.group;
  // Whatever form the product's own operands have, others are row-major beside it.
  ASSIGN_OR_RETURN(Expression expression, Expression::Compile(group, RowsOf(group, shape.storage),
                                                              problem.node().output(0)));
  auto made = std::make_unique<MatMul>(problem, std::move(product), shape, std::move(setup),
                                       std::move(expression), std::move(norm));
  RETURN_IF_ERROR(made->Build(AsOpenCl(device), arithmetic));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

}  // namespace fettle::kernels
