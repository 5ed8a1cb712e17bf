#include "language/choose_types.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "importers/gguf/encode_blocks.h"
#include "importers/gguf/rewrite.h"
#include "language/bit_choice.h"
#include "language/generator.h"
#include "language/sampler.h"
#include "language/tokenizer.h"

namespace fettle::language {
namespace {

using Types = std::vector<const gguf::TensorType*>;

/// Rows that squared errors are taken of.
constexpr int64_t kSampledRows = 32;
/// The share of its squares that a ternary matrix loses at most.
constexpr double kTernary = 1e-3;

/// What matrix `tensor` may become: first what it is, then what is smaller.
struct Matrix {
  size_t tensor = 0;
  Types types;
  std::vector<double> errors;
  std::vector<SizeOption> options;
};

Status SampleError(const gguf::TensorInfo& tensor, const gguf::TensorType& type, double* error,
                   double* power) {
  const int64_t count = std::min(kSampledRows, tensor.rows);
  std::vector<uint8_t> row(tensor.columns / type.elements * type.bytes);
  for (int64_t i = 0; i < count; ++i)
    RETURN_IF_ERROR(
        gguf::EncodeRows(tensor, type, tensor.rows * i / count, 1, row.data(), error, power));
  return OkStatus();
}

Result<Matrix> OptionsOf(const gguf::File& file, size_t index) {
  const gguf::TensorInfo& tensor = file.tensors()[index];
  Matrix matrix{index, {tensor.type}, {0}, {{gguf::BytesAs(tensor, *tensor.type), 0}}};
  for (const gguf::TensorType* type : gguf::EncodedTypes()) {
    if (tensor.columns % type->elements != 0) continue;
    const int64_t bytes = gguf::BytesAs(tensor, *type);
    if (bytes >= matrix.options[0].bytes) continue;
    double error = 0, power = 0;
    RETURN_IF_ERROR(SampleError(tensor, *type, &error, &power));
    if (type->name == "TQ2_0" && error > kTernary * power) continue;
    matrix.types.push_back(type);
    matrix.errors.push_back(error);
    matrix.options.push_back({bytes, 0});
  }
  return matrix;
}

/// The file with those tensors in other types.
Result<std::shared_ptr<const gguf::File>> With(const std::shared_ptr<const gguf::File>& file,
                                               const Types& types, int threads,
                                               const std::atomic<bool>* cancelled) {
  auto kept = std::make_shared<std::vector<std::vector<uint8_t>>>();
  std::vector<gguf::File::Replaced> replaced;
  for (size_t i = 0; i < types.size(); ++i) {
    const gguf::TensorInfo& tensor = file->tensors()[i];
    if (types[i] == tensor.type) continue;
    if (cancelled != nullptr && *cancelled) return Error(StatusCode::kCancelled, "cancelled");
    ASSIGN_OR_RETURN(gguf::Encoded encoded, gguf::EncodeTensor(tensor, *types[i], threads));
    kept->push_back(std::move(encoded.bytes));
    replaced.push_back({i, types[i], kept->back()});
  }
  return gguf::File::Replace(file, replaced, std::move(kept));
}

/// Tokens per second, one by one.
Result<double> SpeedOf(const std::shared_ptr<const gguf::File>& file,
                       const ChoiceOptions& options) {
  constexpr int kSteps = 24;
  DecoderOptions with;
  with.context = 4 + kSteps;
  with.threads = options.threads;
  with.cancelled = options.cancelled;
  ASSIGN_OR_RETURN(const auto decoder, SequenceDecoder::Create(file, with));
  std::span<const float> logits;
  const int32_t token = 0;
  for (int i = 0; i < 4; ++i) RETURN_IF_ERROR(decoder->Read({&token, 1}, &logits));
  const int64_t begin = NowNs();
  for (int i = 0; i < kSteps; ++i) RETURN_IF_ERROR(decoder->Read({&token, 1}, &logits));
  return kSteps * 1e9 / static_cast<double>(std::max<int64_t>(NowNs() - begin, 1));
}

class Chooser {
 public:
  Chooser(std::shared_ptr<const gguf::File> file, const ChoiceOptions& options)
      : file_(std::move(file)), options_(options) {}

  Result<TypeChoice> Run(std::span<const int32_t> tokens) {
    for (const gguf::TensorInfo& tensor : file_->tensors()) now_.push_back(tensor.type);
    RETURN_IF_ERROR(FindOptions());
    limit_ = NowBytes();
    if (!by_growth()) RETURN_IF_ERROR(CheckBudget());
    ASSIGN_OR_RETURN(meter_,
                     DamageMeter::Create(file_, tokens, options_.threads, options_.cancelled));
    for (size_t i = 0; i < matrices_.size(); ++i) {
      RETURN_IF_ERROR(MeasureAlone(matrices_[i]));
      if (options_.progress)
        options_.progress(static_cast<double>(i + 1) / static_cast<double>(matrices_.size() + 1));
    }
    return Choose();
  }

 private:
  Status FindOptions() {
    for (size_t i = 0; i < now_.size(); ++i) {
      if (!IsMatrix(file_->tensors()[i])) continue;
      ASSIGN_OR_RETURN(Matrix matrix, OptionsOf(*file_, i));
      matrices_.push_back(std::move(matrix));
    }
    return OkStatus();
  }

  /// Sets what the matrices may take.
  Status CheckBudget() {
    const TensorSize now = SizeOf(*file_, now_);
    const double elements = 8 * static_cast<double>(now.bytes) / std::max(now.bits, 1e-9);
    const double most = std::floor(elements * options_.bits / 8);
    int64_t others = now.bytes, least = 0;
    for (const Matrix& matrix : matrices_) {
      others -= matrix.options[0].bytes;
      least += std::ranges::min_element(matrix.options, {}, &SizeOption::bytes)->bytes;
    }
    limit_ = static_cast<int64_t>(std::min(most, 9e18)) - others;
    if (least <= limit_) return OkStatus();
    return InvalidArgument("--bits {:g}: the smallest types take {:.4g} bits a weight",
                           options_.bits,
                           std::ceil(8e3 * static_cast<double>(least + others) / elements) / 1e3);
  }

  Status MeasureAlone(Matrix& matrix) {
    if (matrix.types.size() == 1) return OkStatus();
    size_t worst = 1;
    for (size_t k = 2; k < matrix.types.size(); ++k) {
      if (matrix.errors[k] > matrix.errors[worst]) worst = k;
    }
    if (matrix.errors[worst] <= 0) return OkStatus();
    Types types = now_;
    types[matrix.tensor] = matrix.types[worst];
    ASSIGN_OR_RETURN(const auto changed, With(file_, types, options_.threads, options_.cancelled));
    ASSIGN_OR_RETURN(const Damage damage, meter_->Measure(changed));
    const double least = std::min(damage.divergence, 1e6);
    for (size_t k = 1; k < matrix.types.size(); ++k)
      matrix.options[k].damage = least * matrix.errors[k] / matrix.errors[worst];
    return OkStatus();
  }

  Result<Assignment> Measured(std::string name, Types types) {
    Assignment made{std::move(name), std::move(types), {}, {}};
    made.size = SizeOf(*file_, made.types);
    ASSIGN_OR_RETURN(const auto changed,
                     With(file_, made.types, options_.threads, options_.cancelled));
    ASSIGN_OR_RETURN(made.damage, meter_->Measure(changed));
    ASSIGN_OR_RETURN(made.tokens_per_s, SpeedOf(changed, options_));
    return made;
  }

  bool by_growth() const { return options_.growth >= 0; }
  bool Holds(const Assignment& made) const {
    return made.damage.perplexity <= meter_->perplexity() * (1 + options_.growth);
  }

  /// What loses least where matrices have so many bytes.
  Result<Assignment> Within(int64_t limit) {
    std::vector<std::vector<SizeOption>> items;
    for (const Matrix& matrix : matrices_) items.push_back(matrix.options);
    ASSIGN_OR_RETURN(const std::vector<int> picked, ChooseSizes(items, limit));
    Types types = now_;
    for (size_t i = 0; i < matrices_.size(); ++i)
      types[matrices_[i].tensor] = matrices_[i].types[picked[i]];
    return Measured("chosen", std::move(types));
  }

  /// The smallest file whose perplexity holds, by halves, to a 256th of what can be saved.
  Result<Assignment> SmallestThatHolds() {
    int64_t low = 0, high = limit_;
    for (const Matrix& matrix : matrices_)
      low += std::ranges::min_element(matrix.options, {}, &SizeOption::bytes)->bytes;
    ASSIGN_OR_RETURN(Assignment best, Within(high));  // as it is
    const int64_t others = best.size.bytes - high, step = std::max<int64_t>(1, (high - low) / 256);
    for (int64_t middle = low; high - low >= step; middle = (low + high) / 2) {
      ASSIGN_OR_RETURN(Assignment made, Within(middle));
      if (!Holds(made)) {
        low = middle + 1;
        continue;
      }
      best = std::move(made);
      high = std::min(middle, best.size.bytes - others);
      if (middle <= low) break;  // the smallest types hold
    }
    return best;
  }

  Result<TypeChoice> Choose() {
    TypeChoice choice;
    choice.perplexity = meter_->perplexity();
    choice.tokens = meter_->tokens();
    ASSIGN_OR_RETURN(choice.chosen, by_growth() ? SmallestThatHolds() : Within(limit_));
    RETURN_IF_ERROR(Compare(choice));
    choice.divergence.resize(now_.size());
    for (const Matrix& matrix : matrices_) {
      const auto at = std::ranges::find(matrix.types, choice.chosen.types[matrix.tensor]);
      if (at != matrix.types.end())
        choice.divergence[matrix.tensor] = matrix.options[at - matrix.types.begin()].damage;
    }
    return choice;
  }

  bool IsBetter(const Assignment& uniform, const Assignment& chosen) const {
    if (!by_growth()) return uniform.damage.divergence < chosen.damage.divergence;
    return Holds(uniform) && uniform.size.bytes < chosen.size.bytes;
  }

  /// Measures the uniform widths that hold the budget of bytes, and takes the best of them where
  /// that is better than what was chosen.
  Status Compare(TypeChoice& choice) {
    const int64_t most = SizeOf(*file_, now_).bytes - NowBytes() + limit_;
    for (const gguf::TensorType* type : gguf::EncodedTypes()) {
      if (type->bits == 0 || type->name == "TQ2_0") continue;
      Types types = UniformTypes(*file_, *type);
      const bool known = std::ranges::any_of(
          choice.uniform, [&](const Assignment& other) { return other.types == types; });
      if (known || SizeOf(*file_, types).bytes > most) continue;
      ASSIGN_OR_RETURN(Assignment uniform, Measured(std::string(type->name), std::move(types)));
      choice.uniform.push_back(std::move(uniform));
    }
    std::ranges::stable_sort(choice.uniform, {},
                             [](const Assignment& of) { return of.size.bytes; });
    for (const Assignment& uniform : choice.uniform) {
      if (!IsBetter(uniform, choice.chosen)) continue;
      choice.chosen = uniform;
      choice.chosen.name = "chosen";
    }
    return OkStatus();
  }

  int64_t NowBytes() const {
    int64_t bytes = 0;
    for (const Matrix& matrix : matrices_) bytes += matrix.options[0].bytes;
    return bytes;
  }

  std::shared_ptr<const gguf::File> file_;
  const ChoiceOptions& options_;
  Types now_;
  std::vector<Matrix> matrices_;
  int64_t limit_ = 0;  // bytes of matrices
  std::unique_ptr<DamageMeter> meter_;
};

}  // namespace

Result<TypeChoice> ChooseTypes(const std::shared_ptr<const gguf::File>& file,
                               std::span<const int32_t> tokens, const ChoiceOptions& options) {
  return Chooser(file, options).Run(tokens);
}

Result<std::vector<int32_t>> OwnText(std::shared_ptr<const gguf::File> file, int64_t count,
                                     uint64_t seed, const ChoiceOptions& options) {
  ASSIGN_OR_RETURN(const auto tokenizer, Tokenizer::Create(*file));
  DecoderOptions with;
  with.threads = options.threads;
  with.cancelled = options.cancelled;
  ASSIGN_OR_RETURN(const auto decoder, SequenceDecoder::Create(std::move(file), with));
  Sampler sampler({1, 0, 1, seed});
  std::vector<int32_t> text;
  std::span<const float> logits;
  while (std::ssize(text) < count) {
    if (decoder->position() == decoder->context() || text.empty()) {
      RETURN_IF_ERROR(decoder->Rewind(0));
      text.push_back(std::max(tokenizer->begin(), 0));
    } else {
      text.push_back(sampler.Next(logits));
    }
    RETURN_IF_ERROR(decoder->Read({&text.back(), 1}, &logits));
  }
  return text;
}

}  // namespace fettle::language
