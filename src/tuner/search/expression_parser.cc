// Text to Expression: a scanner and one function per level of precedence.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/nearest.h"
#include "tuner/search/expression.h"

namespace fettle::tuner {
namespace {

bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, std::span<const std::string> names)
      : text_(text), names_(names) {}

  Result<Expression> Parse() {
    if (text_.size() > Expression::kMaxLength)
      return InvalidArgument("a condition of {} characters: at most {} are read", text_.size(),
                             Expression::kMaxLength);
    out_.text_ = std::string(text_);
    ASSIGN_OR_RETURN(out_.root_, Or());
    Skip();
    if (at_ < text_.size()) return Wrong("an operator or the end");
    std::sort(out_.uses_.begin(), out_.uses_.end());
    out_.uses_.erase(std::unique(out_.uses_.begin(), out_.uses_.end()), out_.uses_.end());
    return std::move(out_);
  }

 private:
  using Op = Expression::Op;
  struct Spelling {
    std::string_view text;
    Op op;
  };
  using Level = Result<int> (ExpressionParser::*)();

  /// Counts the calls that lie in each other, so that a hostile text cannot exhaust the stack.
  struct Depth {
    explicit Depth(int& depth) : depth(depth) { ++depth; }
    ~Depth() { --depth; }
    int& depth;
  };

  Status Wrong(std::string_view expected) const {
    const std::string_view got = text_.substr(at_, 12);
    return InvalidArgument("condition '{}', column {}: expected {}, got {}", text_, at_ + 1,
                           expected, got.empty() ? "the end" : fmt::format("'{}'", got));
  }

  void Skip() {
    while (at_ < text_.size() && IsBlank(text_[at_])) ++at_;
  }
  std::string_view PeekName() {
    Skip();
    size_t end = at_;
    while (end < text_.size() && (IsNameStart(text_[end]) || (end > at_ && IsDigit(text_[end]))))
      ++end;
    return text_.substr(at_, end - at_);
  }
  /// Takes `token` if it comes next; a word only if it is a whole one.
  bool Take(std::string_view token) {
    Skip();
    const bool next =
        IsNameStart(token[0]) ? PeekName() == token : text_.substr(at_, token.size()) == token;
    if (next) at_ += token.size();
    return next;
  }
  /// The first of `spellings` that comes next.
  std::optional<Op> TakeAny(std::span<const Spelling> spellings) {
    for (const Spelling& spelling : spellings)
      if (Take(spelling.text)) return spelling.op;
    return std::nullopt;
  }

  int Add(Op op, std::vector<int> operands, int index = 0) {
    out_.nodes_.push_back({op, index, std::move(operands)});
    return static_cast<int>(out_.nodes_.size()) - 1;
  }
  int AddLiteral(Value value) {
    out_.literals_.push_back(std::move(value));
    return Add(Op::kLiteral, {}, static_cast<int>(out_.literals_.size()) - 1);
  }

  /// Operators of one precedence, from left to right.
  Result<int> LeftToRight(Level operand, std::span<const Spelling> spellings) {
    ASSIGN_OR_RETURN(int left, (this->*operand)());
    while (const std::optional<Op> op = TakeAny(spellings)) {
      ASSIGN_OR_RETURN(const int right, (this->*operand)());
      left = Add(*op, {left, right});
    }
    return left;
  }

  Result<int> Or() {
    static constexpr Spelling kOr[] = {{"or", Op::kOr}, {"||", Op::kOr}};
    const Depth depth(depth_);
    if (depth_ > Expression::kMaxDepth) return Wrong("less nesting");
    return LeftToRight(&ExpressionParser::And, kOr);
  }
  Result<int> And() {
    static constexpr Spelling kAnd[] = {{"and", Op::kAnd}, {"&&", Op::kAnd}};
    return LeftToRight(&ExpressionParser::Not, kAnd);
  }
  Result<int> Not() {
    const Depth depth(depth_);
    if (depth_ > Expression::kMaxDepth) return Wrong("less nesting");
    if (!Take("not")) return Comparison();
    ASSIGN_OR_RETURN(const int operand, Not());
    return Add(Op::kNot, {operand});
  }

  /// A chain holds where each of its links does.
  Result<int> Comparison() {
    static constexpr Spelling kComparisons[] = {{"==", Op::kEqual},     {"!=", Op::kUnequal},
                                                {"<=", Op::kLessEqual}, {">=", Op::kGreaterEqual},
                                                {"<", Op::kLess},       {">", Op::kGreater}};
    ASSIGN_OR_RETURN(int left, Sum());
    std::optional<int> chain;
    const auto link = [&](int node) { chain = chain ? Add(Op::kAnd, {*chain, node}) : node; };
    while (true) {
      if (const std::optional<Op> op = TakeAny(kComparisons)) {
        ASSIGN_OR_RETURN(const int right, Sum());
        link(Add(*op, {left, right}));
        left = right;
      } else if (Take("in")) {
        ASSIGN_OR_RETURN(const int member, Membership(left));
        link(member);
      } else {
        return chain.value_or(left);
      }
    }
  }
  /// `in [a, b]`: equal to one of them.
  Result<int> Membership(int left) {
    const bool square = Take("[");
    if (!square && !Take("(")) return Wrong("[ or ( after in");
    ASSIGN_OR_RETURN(const std::vector<int> members, List(square ? "]" : ")"));
    int any = -1;
    for (int member : members) {
      const int equal = Add(Op::kEqual, {left, member});
      any = any < 0 ? equal : Add(Op::kOr, {any, equal});
    }
    return any;
  }
  /// What stands between an opening bracket and `close`, at least one.
  Result<std::vector<int>> List(std::string_view close) {
    std::vector<int> list;
    do {
      ASSIGN_OR_RETURN(const int item, Or());
      list.push_back(item);
    } while (Take(","));
    if (!Take(close)) return Wrong(fmt::format(", or {}", close));
    return list;
  }

  Result<int> Sum() {
    static constexpr Spelling kSums[] = {{"+", Op::kAdd}, {"-", Op::kSubtract}};
    return LeftToRight(&ExpressionParser::Product, kSums);
  }
  Result<int> Product() {
    static constexpr Spelling kProducts[] = {
        {"//", Op::kFloorDivide}, {"*", Op::kMultiply}, {"/", Op::kDivide}, {"%", Op::kModulo}};
    return LeftToRight(&ExpressionParser::Unary, kProducts);
  }
  Result<int> Unary() {
    const Depth depth(depth_);
    if (depth_ > Expression::kMaxDepth) return Wrong("less nesting");
    if (Take("+")) return Unary();
    const bool negate = Take("-");
    if (!negate && !(Peek("!") && !Peek("!=") && Take("!"))) return Power();
    ASSIGN_OR_RETURN(const int operand, Unary());
    return Add(negate ? Op::kNegate : Op::kNot, {operand});
  }
  bool Peek(std::string_view token) {
    Skip();
    return text_.substr(at_, token.size()) == token;
  }
  Result<int> Power() {
    ASSIGN_OR_RETURN(const int base, Atom());
    if (!Take("**")) return base;
    ASSIGN_OR_RETURN(const int exponent, Unary());
    return Add(Op::kPower, {base, exponent});
  }

  Result<int> Atom() {
    Skip();
    if (at_ >= text_.size()) return Wrong("a value");
    const char c = text_[at_];
    if (IsDigit(c) || c == '.') return Number();
    if (c == '\'' || c == '"') return Text(c);
    if (Take("(")) {
      ASSIGN_OR_RETURN(const int inner, Or());
      if (!Take(")")) return Wrong(")");
      return inner;
    }
    if (IsNameStart(c)) return Name();
    return Wrong("a value");
  }

  Result<int> Number() {
    const char* const begin = text_.data() + at_;
    const char* const end = text_.data() + text_.size();
    int64_t whole = 0;
    double real = 0;
    const auto as_whole = std::from_chars(begin, end, whole);
    const auto as_real = std::from_chars(begin, end, real);
    if (as_real.ec != std::errc()) return Wrong("a number");
    at_ += as_real.ptr - begin;
    if (at_ < text_.size() && IsNameStart(text_[at_])) return Wrong("an operator");
    const bool is_whole = as_whole.ec == std::errc() && as_whole.ptr == as_real.ptr;
    return AddLiteral(is_whole ? Value(whole) : Value(real));
  }
  Result<int> Text(char quote) {
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return Wrong("a closing quote");
    const std::string text(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return AddLiteral(text);
  }
  Result<int> Name() {
    static constexpr Spelling kFunctions[] = {
        {"min", Op::kMin}, {"max", Op::kMax}, {"abs", Op::kAbs}};
    const std::string_view name = PeekName();
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found != names_.end()) {
      at_ += name.size();
      const int index = static_cast<int>(found - names_.begin());
      out_.uses_.push_back(index);
      return Add(Op::kName, {}, index);
    }
    if (Take("True") || Take("true")) return AddLiteral(int64_t{1});
    if (Take("False") || Take("false")) return AddLiteral(int64_t{0});
    if (const std::optional<Op> function = TakeAny(kFunctions)) return Call(*function);
    return InvalidArgument("condition '{}', column {}: '{}' is not a parameter; known: {}", text_,
                           at_ + 1, name,
                           fmt::join(NearestFirst(name, {names_.begin(), names_.end()}), ", "));
  }
  Result<int> Call(Op function) {
    if (!Take("(")) return Wrong("(");
    ASSIGN_OR_RETURN(std::vector<int> arguments, List(")"));
    if (function == Op::kAbs && arguments.size() != 1) return Wrong("one argument of abs before");
    return Add(function, std::move(arguments));
  }

  std::string_view text_;
  std::span<const std::string> names_;
  size_t at_ = 0;
  int depth_ = 0;
  Expression out_;
};

Result<Expression> Expression::Parse(std::string_view text, std::span<const std::string> names) {
  return ExpressionParser(text, names).Parse();
}

}  // namespace fettle::tuner
