#include "device/opencl/chain_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <sstream>

#include "device/opencl/program/source_words.h"

namespace fettle {
namespace {

/// Arrays of local memory begin at multiples of it, as the tiles of matrix instructions ask for.
constexpr size_t kLocalAlignment = 1024;
/// Parameters of a kernel are 1024 bytes at least.
constexpr size_t kMostMemory = 120;
/// A work-group's barriers but the one of all its items; warps are not divided.
constexpr size_t kMostParts = 15, kWarp = 32;

/// What comes before all stages, whose macros of the same names are gone after them.
constexpr std::string_view kChainBegin = R"(
static uint chain_item(void) { return (uint)get_local_id(0); }
static uint chain_place(void) { return (uint)get_group_id(0); }
static uint chain_places(void) { return (uint)get_num_groups(0); }
#define CHAIN_ALIGNED(bytes) (((bytes) + 1023u) / 1024u * 1024u)
#if CHAIN_PTX
static uint chain_come(volatile __global uint* state) {
  uint come;
  __asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(come) : "l"((ulong)(size_t)state) : "memory");
  return come;
}
static void chain_comes(volatile __global uint* state) {
  __asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"((ulong)(size_t)state) : "memory");
}
static void chain_part_meets(const uint number, const uint items) {
  __asm volatile("barrier.sync %0, %1;" ::"r"(number), "r"(items) : "memory");
}
#else
static uint chain_come(volatile __global uint* state) {
  const uint come = atomic_add(state, 0u);
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  return come;
}
static void chain_comes(volatile __global uint* state) {
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  atomic_inc(state);
}
#endif
// All work-groups have written what comes before, or have waited in vain and say so, which those
// that wait see after a while.
#define CHAIN_MEET(times)                                                       \
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);                          \
  if (chain_item() == 0) {                                                      \
    chain_comes(state);                                                         \
    uint looks = 0;                                                             \
    while (looks < most_looks && chain_come(state) < (times)*places) {          \
      ++looks;                                                                  \
      if (looks % 1024u == 0 && chain_come(state + 1) != 0) looks = most_looks; \
    }                                                                           \
    if (looks == most_looks) {                                                  \
      state[1] = 1;                                                             \
      most_looks = 0;                                                           \
    }                                                                           \
  }                                                                             \
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
)";

/// A kernel's text as functions that take their work-group and local memory.
class StageText {
 public:
  explicit StageText(std::string_view text) : text_(text) {}
  /// Arrays of local memory in all of its functions.
  size_t arrays() const { return arrays_; }

  Result<std::string> Rewrite() {
    std::string out;
    size_t copied = 0;
    for (size_t i = 0; i < text_.size();) {
      if (!IsWordStart(text_[i])) {
        ++i;
        continue;
      }
      const std::string_view word = WordAt(text_, i);
      size_t end = i + word.size();
      std::string instead;
      if (word == "__kernel") end = Kernel(end, instead);
      if (word == "__local") {
        ASSIGN_OR_RETURN(end, Local(end, instead));
      }
      if (!instead.empty()) {
        out += text_.substr(copied, i - copied);
        out += instead;
        copied = end;
      }
      i = end;
    }
    out += text_.substr(copied);
    return out;
  }

 private:
  size_t Kernel(size_t at, std::string& instead) const {
    const size_t type = SkipSpaces(text_, SkipAttribute(text_, at));
    const size_t name = SkipSpaces(text_, type + WordAt(text_, type).size());
    const std::string_view function = WordAt(text_, name);
    const size_t open = SkipSpaces(text_, name + function.size());
    if (WordAt(text_, type) != "void" || open >= text_.size() || text_[open] != '(') return at;
    // Inlined: as functions of their own compilers may take what is const and restrict for memory
    // that nobody writes while the program runs, and work-groups read what was there before.
    instead = fmt::format(
        "static __attribute__((always_inline)) void {}(const uint4 chain_group, "
        "__local uchar* const chain_local, uint chain_used, ",
        function);
    return open + 1;
  }

  /// `__local TYPE NAME[COUNT]`: the next place of the local memory.
  Result<size_t> Local(size_t at, std::string& instead) {
    const size_t type = SkipSpaces(text_, at);
    const size_t name = SkipSpaces(text_, type + WordAt(text_, type).size());
    const std::string_view type_word = WordAt(text_, type), name_word = WordAt(text_, name);
    const size_t open = SkipSpaces(text_, name + name_word.size());
    if (type_word.empty() || name_word.empty() || open >= text_.size() || text_[open] != '[')
      return at;
    const size_t close = SkipBrackets(text_, open);
    const std::string_view count = text_.substr(open + 1, close - open - 2);
    const size_t end = SkipAttribute(text_, close);
    const char next = SkipSpaces(text_, end) < text_.size() ? text_[SkipSpaces(text_, end)] : ';';
    if (next == '[') return Unsupported("an array of arrays in local memory");
    if (next != ';') return Unsupported("several arrays of local memory in one declaration");
    ++arrays_;
    instead = fmt::format(
        "__local {0}* {1} = (__local {0}*)(chain_local + chain_used); "
        "chain_used += CHAIN_ALIGNED(sizeof({0}) * ({2}))",
        type_word, name_word, count);
    return end;
  }

  std::string_view text_;
  size_t arrays_ = 0;
};

/// The functions that say where a work-item is, as macros.
std::vector<std::pair<std::string, std::string>> PlacesOf(const std::array<size_t, 3>& lws,
                                                          bool is_part) {
  const auto by_axis = [](const auto& x, const auto& y, const auto& z) {
    return fmt::format("((size_t)((d) == 0 ? ({}) : (d) == 1 ? ({}) : ({})))", x, y, z);
  };
  const size_t plane = lws[0] * lws[1], items = plane * lws[2];
  std::vector<std::pair<std::string, std::string>> places;
  if (is_part)
    places.emplace_back("barrier(flags)",
                        fmt::format("chain_part_meets(chain_item() / {0}u + 1u, {0}u)", items));
  const std::vector<std::pair<std::string, std::string>> always = {
      {"get_local_id(d)", by_axis(fmt::format("chain_item() % {}u", lws[0]),
                                  fmt::format("chain_item() / {}u % {}u", lws[0], lws[1]),
                                  fmt::format("chain_item() / {}u % {}u", plane, lws[2]))},
      {"get_local_size(d)", by_axis(lws[0], lws[1], lws[2])},
      {"get_group_id(d)", by_axis("chain_group.x", "chain_group.y", "chain_group.z")},
      {"get_global_id(d)", "(get_group_id(d) * get_local_size(d) + get_local_id(d))"},
      {"get_global_offset(d)", "((size_t)0)"}};
  places.insert(places.end(), always.begin(), always.end());
  return places;
}

/// A value as OpenCL C.
Result<std::string> LiteralOf(const KernelArg& arg) {
  const std::string_view type = arg.type();
  if (type.empty()) return Unsupported("an argument of a type that has no name");
  if (type == "long") {
    int64_t value;
    std::memcpy(&value, arg.data(), sizeof(value));  // NOLINT
    return fmt::format("(long)({}L)", value);
  }
  const auto* bytes = static_cast<const std::byte*>(arg.data());
  std::string list;
  for (size_t i = 0; i < arg.size(); i += sizeof(uint32_t)) {
    uint32_t word;
    std::memcpy(&word, bytes + i, sizeof(word));  // NOLINT
    list += fmt::format("{}as_{}(0x{:x}u)", i > 0 ? ", " : "",
                        type.substr(0, type.find_first_of("24")), word);
  }
  return fmt::format("({})({})", type, list);
}

void Define(const std::string& name, std::string_view value, std::string& text,
            SourceNames& names) {
  text += fmt::format("#define {} {}\n", name, value);
  names.macros.insert(name.substr(0, name.find('(')));
}

/// Macros of the options, names of the stage's own, and where its work-items are; what is put into
/// `names` is undefined after it.
std::string MacrosOf(const ChainStage& stage, bool is_part, std::string_view prefix,
                     SourceNames& names) {
  std::string text;
  std::istringstream words(stage.program->options);
  for (std::string word; words >> word;) {
    if (!word.starts_with("-D")) continue;
    const size_t equals = std::min(word.find('='), word.size());
    Define(word.substr(2, equals - 2), equals == word.size() ? "1" : word.substr(equals + 1), text,
           names);
  }
  for (const std::string& name : names.declared)
    Define(name, fmt::format("{}{}", prefix, name), text, names);
  for (const auto& [macro, value] : PlacesOf(stage.lws, is_part)) Define(macro, value, text, names);
  return text;
}

}  // namespace

Status CheckChains(const ProgramSource& program) {
  for (const std::string_view what :
       {"get_num_groups", "get_global_size", "get_sub_group", "#define FETTLE_MULTIPLY_ADD 2"})
    if (program.text.find(what) != std::string::npos)
      return Unsupported("its source contains {}", what);
  if (program.options.find("IMAGE=1") != std::string::npos) return Unsupported("images");
  return OkStatus();
}

std::string OptionsWithoutMacros(const std::string& options) {
  std::string language;
  std::istringstream words(options);
  for (std::string word; words >> word;)
    if (!word.starts_with("-D")) language += (language.empty() ? "" : " ") + word;
  return language;
}

Status ChainText::Check(const ChainStage& stage) const {
  const size_t items = stage.items();
  const bool is_part =
      form_.ptx && items < form_.items && items % kWarp == 0 && form_.items % kWarp == 0;
  if (items != form_.items && !is_part)
    return Unsupported("work-groups of {} items among ones of {}", items, form_.items);
  RETURN_IF_ERROR(CheckChains(*stage.program));
  const std::string language = OptionsWithoutMacros(stage.program->options);
  if (stages_ > 0 && language != language_)
    return Unsupported("options '{}' beside '{}'", language, language_);
  return OkStatus();
}

Result<ChainText::Function> ChainText::FunctionOf(const ChainStage& stage) {
  const ProgramSource& program = *stage.program;
  const std::string key = fmt::format("{}\n{}\n{} {}", program.text, program.options,
                                      stage.function, fmt::join(stage.lws, "x"));
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  const std::string text = WithoutComments(program.text);
  SourceNames names = NamesIn(text);
  StageText rewriter(text);
  ASSIGN_OR_RETURN(const std::string rewritten, rewriter.Rewrite());
  const std::string prefix = fmt::format("s{}_", known_.size());
  functions_ += MacrosOf(stage, stage.items() < form_.items, prefix, names) + rewritten + '\n';
  for (const std::string& macro : names.macros) functions_ += fmt::format("#undef {}\n", macro);
  size_t local = 0;
  if (rewriter.arrays() > 0 && stage.local_bytes > 0)
    local = (stage.local_bytes / kLocalAlignment + rewriter.arrays() + 1) * kLocalAlignment;
  return known_.emplace(key, Function{prefix + std::string(stage.function), local}).first->second;
}

Result<std::string> ChainText::ArgumentsOf(const ChainStage& stage) {
  std::string list;
  for (const KernelArg& arg : stage.args) {
    if (!arg.is_memory()) {
      ASSIGN_OR_RETURN(const std::string literal, LiteralOf(arg));
      list += ", " + literal;
      continue;
    }
    const auto known = std::find(memory_.begin(), memory_.end(), arg.memory());
    list += fmt::format(", (__global void*)m{}", known - memory_.begin());
    if (known == memory_.end()) memory_.push_back(arg.memory());
  }
  if (memory_.size() > kMostMemory) return Unsupported("more than {} buffers", kMostMemory);
  return list;
}

Status ChainText::Add(const ChainStage& stage) {
  RETURN_IF_ERROR(Check(stage));
  language_ = OptionsWithoutMacros(stage.program->options);
  ASSIGN_OR_RETURN(const std::string arguments, ArgumentsOf(stage));
  ASSIGN_OR_RETURN(const Function function, FunctionOf(stage));
  if (function.local_bytes > form_.local_bytes)
    return Unsupported("{} bytes of local memory, the device has {}", function.local_bytes,
                       form_.local_bytes);
  if (stages_ > 0) body_ += fmt::format("  CHAIN_MEET({})\n", stages_);
  AddLoop(stage, function, arguments);
  ++stages_;
  return OkStatus();
}

/// The work-groups of a stage in turn, each by a work-group of the chain, or by a part of one.
void ChainText::AddLoop(const ChainStage& stage, const Function& function,
                        const std::string& arguments) {
  const auto& groups = stage.groups;
  const size_t count = groups[0] * groups[1] * groups[2], items = stage.items();
  size_t parts = std::min(form_.items / items, kMostParts);
  parts = std::min(parts, (count + form_.places - 1) / form_.places);
  if (function.local_bytes > 0) parts = std::min(parts, form_.local_bytes / function.local_bytes);
  local_bytes_ = std::max(local_bytes_, parts * function.local_bytes);
  const bool is_part = items < form_.items;
  const std::string part = is_part ? fmt::format("chain_item() / {}u", items) : "0u";
  const std::string barrier = is_part ? fmt::format("chain_part_meets({} + 1u, {}u);", part, items)
                                      : "barrier(CLK_LOCAL_MEM_FENCE);";
  if (is_part) body_ += fmt::format("  if (chain_item() < {}u)\n", parts * items);
  body_ += fmt::format(
      "  for (uint v = place + {0} * places; v < {1}u; v += {2}u * places) {{\n"
      "    {3}((uint4)(v % {4}u, v / {4}u % {5}u, v / {6}u, 0), local_memory + {0} * {7}u, 0{8});\n"
      "    {9}\n  }}\n",
      part, count, parts, function.name, groups[0], groups[1], groups[0] * groups[1],
      function.local_bytes, arguments, function.local_bytes > 0 ? barrier : "");
}

ProgramSource ChainText::Source() const {
  ProgramSource source{.name = std::string(kChainFunction), .text = {}, .options = language_};
  source.text =
      fmt::format("#define CHAIN_PTX {}\n{}{}\n", form_.ptx ? 1 : 0, kChainBegin, functions_);
  source.text += fmt::format(
      "__kernel __attribute__((reqd_work_group_size({}, 1, 1))) void {}(__global uint* state, "
      "uint most_looks",
      form_.items, kChainFunction);
  for (size_t i = 0; i < memory_.size(); ++i)
    source.text += fmt::format(", __global uchar* m{}", i);
  source.text += fmt::format(
      ") {{\n  __local uchar local_memory[{}] __attribute__((aligned({})));\n"
      "  const uint place = chain_place(), places = chain_places();\n",
      std::max<size_t>(local_bytes_, 16), kLocalAlignment);
  source.text += body_;
  // The last one leaves the state as it was.
  source.text += fmt::format(
      "  if (chain_item() == 0 && atomic_inc(state) == {}u * places - 1) state[0] = 0;\n}}\n",
      stages_);
  return source;
}

}  // namespace fettle
