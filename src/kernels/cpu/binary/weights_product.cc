// cpu.binary.weights: products of few rows of floats with constant weights that have two values for
// each output. These lie in memory as bits, a thirty-second of their bytes; sums take signs from
// them, and two numbers for each output scale what comes out.
#include <algorithm>
#include <array>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/binary/signed_sums.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/family.h"
#include "kernels/match/product.h"

namespace fettle::kernels {
namespace {

/// Rows beyond which arithmetic, not memory, takes the time.
constexpr int64_t kMostRows = 8;
/// Weights below which the caches keep floats.
constexpr int64_t kManyWeights = int64_t{1} << 18;
/// Outputs of a task.
constexpr int64_t kTaskOutputs = 64;

/// Where the parts of the packed form lie: half the distance and the middle of an output's values,
/// its addend, and rows of bits.
struct SignLayout {
  int64_t n = 0, k = 0;
  int64_t rows() const { return RoundUp(n, kSignRows); }
  int64_t row_bytes() const { return RoundUp(k, 64) / 8; }
  int64_t bits_at() const { return RoundUp(3 * rows() * 4, 64); }
  int64_t bytes() const { return bits_at() + rows() * row_bytes(); }
};

/// Calls visit(output, i, weight) for the weights of [k, n], or [n, k] where they are transposed,
/// in the order in which they lie until it answers false. A piece at a time: networks without such
/// weights are asked, too, and these may be large.
template <typename Visit>
void VisitWeights(const Constant& constant, const Product& p, Visit visit) {
  constexpr int64_t kPiece = 1024;
  std::array<float, kPiece> piece;
  const int64_t all = p.n * p.k, inner = p.trans_b ? p.k : p.n;
  int64_t row = 0, column = 0;
  for (int64_t begin = 0; begin < all; begin += kPiece) {
    const int64_t count = std::min(kPiece, all - begin);
    constant.CopyTo(begin, count, reinterpret_cast<std::byte*>(piece.data()));
    for (int64_t j = 0; j < count; ++j) {
      if (!visit(p.trans_b ? row : column, p.trans_b ? column : row, piece[j])) return;
      if (++column < inner) continue;
      column = 0;
      ++row;
    }
  }
}

/// The two values of each output, the lower first; kUnsupported where there is a third one.
Result<std::vector<std::array<float, 2>>> ReadPairs(const Constant& constant, const Product& p) {
  std::vector<std::array<float, 2>> pairs(p.n);
  Status status;
  VisitWeights(constant, p, [&](int64_t output, int64_t i, float value) {
    auto& [low, high] = pairs[output];
    if (i == 0) low = high = value;
    if (value == low || value == high) return true;
    if (low == high && value == value) {
      (value < low ? low : high) = value;
      return true;
    }
    status = Unsupported("the weights of output {} have over two values", output);
    return false;
  });
  if (!status.ok()) return status;
  return pairs;
}

Result<Product> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(Product p, ReadProduct(group));
  if (!p.constant_b || p.b_matrices != 1 || p.batches.size() != 1)
    return Unsupported("weights that are no constant matrix");
  if (p.m < 1 || p.m > kMostRows || p.trans_a || p.n == 0 || p.k == 0)
    return Unsupported("{} rows, of 1 to {}", p.m, kMostRows);
  if (p.addend != ir::kAbsent && !p.constant_row)
    return Unsupported("an addend that is no constant row");
  const auto& constant = group.value(p.b).constant;
  if (constant == nullptr || constant->dtype() != DType::kF32 || constant->is_splat() ||
      constant->source() != nullptr)
    return Unsupported("weights that do not lie in memory as f32");
  RETURN_IF_ERROR(ReadPairs(*constant, p).status());
  return p;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Product&, const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states, FloatRowMajorStates(group));
  RETURN_IF_ERROR(Epilogue::Compile(group, states).status());
  return std::vector<StateAssignment>{std::move(states)};
}

Status PackSigns(const Product& p, std::span<const Constant* const> constants, std::byte* out) {
  const SignLayout layout{p.n, p.k};
  ASSIGN_OR_RETURN(const auto pairs, ReadPairs(*constants[0], p));
  std::fill_n(out, layout.bytes(), std::byte{0});
  auto* numbers = reinterpret_cast<float*>(out);
  for (int64_t o = 0; o < p.n; ++o) {
    const double low = pairs[o][0], high = pairs[o][1];
    numbers[o] = static_cast<float>(p.alpha * (high - low) / 2);
    numbers[layout.rows() + o] = static_cast<float>(p.alpha * (high + low) / 2);
    if (constants.size() > 1) {
      const int64_t at = constants[1]->elements() == 1 ? 0 : o;
      numbers[2 * layout.rows() + o] = static_cast<float>(p.beta * constants[1]->GetDouble(at));
    }
  }
  auto* bits = reinterpret_cast<uint8_t*>(out + layout.bits_at());
  VisitWeights(*constants[0], p, [&](int64_t output, int64_t i, float value) {
    bits[output * layout.row_bytes() + i / 8] |=
        static_cast<uint8_t>((value != pairs[output][1]) << (i % 8));
    return true;
  });
  return OkStatus();
}

class WeightsProduct final : public PreparedKernel {
 public:
  WeightsProduct(const Problem& problem, const Product& product, Epilogue epilogue)
      : p_(product),
        layout_{product.n, product.k},
        a_(IndexOf(problem.group->inputs, product.a)),
        epilogue_(std::move(epilogue)) {}

  std::vector<PackRequest> packs() const override {
    PackRequest request{.constants = {p_.b}};
    if (p_.constant_row) request.constants.push_back(p_.addend);
    request.recipe = fmt::format("binary.weights.t{}.a{}.b{}", p_.trans_b, p_.alpha,
                                 p_.constant_row ? p_.beta : 0);
    request.bytes = layout_.bytes();
    request.pack = [p = p_](std::span<const Constant* const> constants, std::byte* out) {
      return PackSigns(p, constants, out);
    };
    std::vector<PackRequest> all{std::move(request)};
    epilogue_.AppendPacks(all);
    return all;
  }

  Status Launch(const LaunchArgs& args) const override {
    const elementwise::Binding binding = epilogue_.Bind(args, 1);
    float totals[kMostRows];
    for (int64_t row = 0; row < p_.m; ++row) totals[row] = SumOf(RowOf(args, row), p_.k);
    static_cast<CpuStream&>(args.stream)
        .ParallelFor(CeilDiv(p_.n, kTaskOutputs), [&](int64_t task, int) {
          const int64_t first = task * kTaskOutputs;
          const int64_t columns = std::min(kTaskOutputs, p_.n - first);
          float* c = args.outputs[0].host<float>() + first;
          for (int64_t o = 0; o < columns; o += kSignRows)
            for (int64_t row = 0; row < p_.m; ++row) StoreSums(args, row, first + o, totals[row]);
          elementwise::Tile tile{.row = 0, .rows = p_.m};
          tile.col = first;
          tile.cols = columns;
          tile.running = c;
          tile.running_stride = p_.n;
          epilogue_.Run(binding, tile);
        });
    return OkStatus();
  }

 private:
  const float* RowOf(const LaunchArgs& args, int64_t row) const {
    return args.inputs[a_].host<float>() + row * p_.k;
  }

  /// Up to kSignRows outputs of a row from `output` on.
  void StoreSums(const LaunchArgs& args, int64_t row, int64_t output, float total) const {
    const auto* packed = args.packed[0].host<std::byte>();
    const auto* numbers = reinterpret_cast<const float*>(packed) + output;
    const auto* bits = reinterpret_cast<const uint8_t*>(packed + layout_.bits_at());
    float sums[kSignRows];
    SumSigned(RowOf(args, row), p_.k, bits + output * layout_.row_bytes(), layout_.row_bytes(),
              sums);
    float* c = args.outputs[0].host<float>() + row * p_.n + output;
    const Clamp& clamp = epilogue_.clamp();
    for (int64_t o = 0; o < std::min<int64_t>(kSignRows, p_.n - output); ++o) {
      const float middle = numbers[layout_.rows() + o];
      float v = numbers[o] * sums[o] + numbers[2 * layout_.rows() + o];
      if (middle != 0) v += middle * total;
      c[o] = v < clamp.low ? clamp.low : v > clamp.high ? clamp.high : v;
    }
  }

  Product p_;
  SignLayout layout_;
  size_t a_;
  Epilogue epilogue_;
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Product& product,
                                                const Params&, const Device&) {
  ASSIGN_OR_RETURN(Epilogue epilogue, Epilogue::Compile(*problem.group, problem.states));
  return std::unique_ptr<PreparedKernel>(new WeightsProduct(problem, product, std::move(epilogue)));
}

/// One row of floats waits for its weights; more rows share them, and arithmetic takes longer.
int Taste(const Product& p, const Device&) {
  return p.n * p.k >= kManyWeights && p.m == 1 ? 14 : 2;
}

Work WorkOf(const Problem&, const Product& p, const Params&, const Device&) {
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n),
             k = static_cast<double>(p.k);
  return {.operations = m * n * k,
          .bytes = static_cast<double>(SignLayout{p.n, p.k}.bytes()) + 4 * m * (n + k)};
}

constexpr Family<Product> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Taste, .work = WorkOf};

}  // namespace

extern const KernelDesc kCpuBinaryWeights;
const KernelDesc kCpuBinaryWeights = {.name = "cpu.binary.weights", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
