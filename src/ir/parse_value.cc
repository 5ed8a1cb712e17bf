#include "ir/parse_value.h"

#include "base/hash.h"
#include "ir/elements.h"
#include "ir/text.h"

namespace fettle::ir {
namespace {

constexpr int kMaxRank = 32;

Result<int64_t> ParseExtent(Lexer& lexer) {
  if (lexer.Take('?')) return int64_t{-1};
  // An extent ends at 'x', which is a word character: read digits alone.
  int64_t extent = 0;
  bool any = false;
  while (lexer.Peek() >= '0' && lexer.Peek() <= '9') {
    extent = extent * 10 + (lexer.Peek() - '0');
    if (extent > kMaxElements) return lexer.Fail("an extent is out of range");
    lexer.Rewind(lexer.position() + 1);
    any = true;
  }
  if (!any) return lexer.Fail("expected an extent");
  return extent;
}

Result<Constant> MakeNoise(Lexer& lexer, const ValueType& type, std::string_view name,
                           NoiseRange range, int64_t& noise_left) {
  noise_left -= type.shape->elements();
  if (noise_left < 0) {
    return lexer.Fail("constants without contents exceed {} elements", kMaxNoiseElements);
  }
  const Result<Tensor> tensor = NoiseTensor(type.dtype, *type.shape, HashText(name), range);
  if (!tensor.ok()) return lexer.At(tensor.status());
  return Constant::FromTensor(*tensor);
}

Result<Constant> ParseElements(Lexer& lexer, const ValueType& type) {
  auto bytes = std::make_shared<std::vector<std::byte>>();
  int64_t count = 0;
  for (std::string_view word = lexer.Run(); !word.empty(); word = lexer.Run(), ++count) {
    bytes->resize(StorageBytes(type.dtype, count + 1));
    std::byte* element = bytes->data() + StorageBytes(type.dtype, count);
    const Status status = ReadElement(word, type.dtype, element);
    if (!status.ok()) return lexer.At(status);
  }
  if (count != type.shape->elements()) {
    return lexer.Fail("expected {} elements, got {}", type.shape->elements(), count);
  }
  return Constant::FromBytes(type.dtype, *type.shape, *bytes, bytes);
}

}  // namespace

Result<ValueType> ParseType(Lexer& lexer) {
  ValueType type;
  const std::string_view name = lexer.Run();
  const std::optional<DType> dtype = DTypeFromName(name);
  if (!dtype) return lexer.Fail("unknown type '{}'", name);
  type.dtype = *dtype;
  if (!lexer.Take('[')) return type;
  Dims dims;
  bool symbolic = false;
  while (!lexer.Take(']')) {
    if (!dims.empty()) RETURN_IF_ERROR(lexer.Expect('x'));
    ASSIGN_OR_RETURN(const int64_t extent, ParseExtent(lexer));
    dims.push_back(extent);
    type.symbols.emplace_back();
    if (lexer.Peek() == '\'') {
      ASSIGN_OR_RETURN(type.symbols.back(), lexer.Quoted('\''));
      symbolic = true;
    }
    if (dims.size() > kMaxRank) return lexer.Fail("more than {} axes", kMaxRank);
  }
  if (!symbolic) type.symbols.clear();
  type.shape = Shape(std::move(dims));
  return type;
}

Result<NoiseRange> ParseNoiseRange(Lexer& lexer) {
  RETURN_IF_ERROR(lexer.Expect('('));
  const Result<double> low = ReadFloat(lexer.Run());
  if (!low.ok()) return lexer.At(low.status());
  RETURN_IF_ERROR(lexer.Expect(','));
  const Result<double> high = ReadFloat(lexer.Run());
  if (!high.ok()) return lexer.At(high.status());
  RETURN_IF_ERROR(lexer.Expect(')'));
  constexpr double kLimit = 0x1.0p62;
  if (!(*low >= -kLimit && *low <= *high && *high <= kLimit)) {
    return lexer.Fail("noise({}, {}) is not a range", *low, *high);
  }
  return NoiseRange{*low, *high};
}

Result<Constant> ParseConstant(Lexer& lexer, std::string_view name, int64_t& noise_left) {
  ASSIGN_OR_RETURN(const ValueType type, ParseType(lexer));
  if (!type.shape || !type.shape->CheckedElements() ||
      !DispatchDType(type.dtype, []<typename T>() {})) {
    return lexer.Fail("a constant needs a type with elements and a concrete shape");
  }
  const bool integer = !IsFloat(type.dtype);
  const NoiseRange plain = integer ? NoiseRange{0, 0} : NoiseRange{-1, 1};
  if (!lexer.Take('=')) return MakeNoise(lexer, type, name, plain, noise_left);
  const size_t begin = lexer.position();
  const std::string_view word = lexer.Run();
  if (word == "noise") {
    ASSIGN_OR_RETURN(const NoiseRange range, ParseNoiseRange(lexer));
    return MakeNoise(lexer, type, name, range, noise_left);
  }
  if (word == "splat") {
    std::byte element[16] = {};
    const Status status = ReadElement(lexer.Run(), type.dtype, element);
    if (!status.ok()) return lexer.At(status);
    return Constant::Splat(type.dtype, *type.shape,
                           {element, static_cast<size_t>(StorageBytes(type.dtype, 1))});
  }
  lexer.Rewind(begin);
  return ParseElements(lexer, type);
}

}  // namespace fettle::ir
