#include "device/cuda/module_text.h"

#include <cctype>
#include <charconv>
#include <vector>

namespace fettle::cuda {
namespace {

constexpr int64_t kMostStaticBytes = 48 << 10;
constexpr std::string_view kPool = "fettle_local_memory";
constexpr std::string_view kEnvironment[] = {"0", "0",         "0",         "0",         "0",
                                             "0", "%nctaid.x", "%nctaid.y", "%nctaid.z", "3"};

bool IsNamePart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '.';
}

/// The number at `at`, and behind it; -1 where there is none.
int64_t NumberAt(std::string_view text, size_t& at) {
  int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
  if (error != std::errc()) return -1;
  at = end - text.data();
  return number;
}

fettle::Result<std::string> WithoutEnvironment(std::string_view text) {
  constexpr std::string_view kName = "%envreg";
  std::string made;
  size_t at = 0;
  for (size_t found; (found = text.find(kName, at)) != std::string_view::npos;) {
    made += text.substr(at, found - at);
    at = found + kName.size();
    const int64_t number = NumberAt(text, at);
    if (number < 0 || number >= std::ssize(kEnvironment))
      return Unsupported("a program that reads {}{}", kName, number);
    made += kEnvironment[number];
  }
  return made.append(text.substr(at));
}

/// `.shared .align 16 .b8 NAME[BYTES];`
struct LocalArray {
  std::string_view name;
  int64_t bytes = 0;
  size_t begin = 0, end = 0;  // of the declaration in its text
};

std::vector<LocalArray> LocalArraysOf(std::string_view body) {
  constexpr std::string_view kShared = ".shared .align ";
  std::vector<LocalArray> arrays;
  for (size_t at = 0; (at = body.find(kShared, at)) != std::string_view::npos;) {
    LocalArray array{.begin = at};
    const size_t close = body.find(';', at), open = body.find('[', at);
    const size_t name = body.rfind(' ', open) + 1;
    at += kShared.size();
    if (close == std::string_view::npos || open > close) continue;
    array.name = body.substr(name, open - name);
    size_t digits = open + 1;
    array.bytes = NumberAt(body, digits);
    array.end = close + 1;
    arrays.push_back(array);
  }
  return arrays;
}

/// `text` with `name` as the pool's part at `offset`; `[name+8]` is one number behind the pool.
std::string Renamed(std::string_view text, std::string_view name, int64_t offset) {
  std::string made;
  size_t at = 0;
  for (size_t found; (found = text.find(name, at)) != std::string_view::npos;) {
    size_t end = found + name.size();
    const bool is_whole = (found == 0 || !IsNamePart(text[found - 1])) &&
                          (end >= text.size() || !IsNamePart(text[end]));
    made += text.substr(at, found - at);
    if (!is_whole) {
      made += text.substr(found, name.size());
      at = end;
      continue;
    }
    int64_t behind = 0;
    if (size_t digits = end + 1; end + 1 < text.size() && text[end] == '+') {
      behind = NumberAt(text, digits);
      end = behind < 0 ? end : digits;
    }
    made += fmt::format("{}+{}", kPool, offset + std::max<int64_t>(behind, 0));
    at = end;
  }
  return made.append(text.substr(at));
}

/// The body of one function with its arrays in the pool, which `declaration` stands for; `bytes`:
/// of all of them.
std::string WithPool(std::string_view body, std::string_view declaration, int64_t& bytes) {
  constexpr int64_t kAlignment = 128;
  const std::vector<LocalArray> arrays = LocalArraysOf(body);
  bytes = 0;
  for (const LocalArray& array : arrays) bytes += array.bytes;
  if (bytes <= kMostStaticBytes) {
    bytes = 0;
    return std::string(body);
  }
  std::string made(body.substr(0, arrays[0].begin));
  made += declaration;
  size_t at = arrays[0].end;
  for (const LocalArray& array : arrays) {
    if (array.begin < at) continue;
    made += body.substr(at, array.begin - at);
    at = array.end;
  }
  made += body.substr(at);
  bytes = 0;
  for (const LocalArray& array : arrays) {
    made = Renamed(made, array.name, bytes);
    bytes += (array.bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  return made;
}

constexpr std::string_view kSize = ".address_size 64", kEntry = ".entry ";

Status CheckPtx(std::string_view given) {
  if (given.find("\n.version ") != std::string_view::npos &&
      given.find(kSize) != std::string_view::npos)
    return OkStatus();
  return Unsupported("a program's binary that is not PTX");
}

/// What follows the head, function by function; `first` is where the first one begins.
std::string FunctionsOf(std::string_view text, std::string_view declaration, size_t first,
                        ModuleText& module) {
  std::string functions;
  for (size_t at = first; at < text.size();) {
    const size_t next = std::min(text.find(kEntry, at + 1), text.size());
    const size_t name = at + kEntry.size();
    int64_t bytes = 0;
    functions += WithPool(text.substr(at, next - at), declaration, bytes);
    module.dynamic_bytes[std::string(text.substr(name, text.find('(', name) - name))] = bytes;
    at = next;
  }
  return functions;
}

}  // namespace

fettle::Result<ModuleText> LinkTextOf(std::string_view given) {
  RETURN_IF_ERROR(CheckPtx(given));
  const std::string_view text = given.substr(0, given.find('\0'));
  const size_t first = std::min(text.find(kEntry), text.size());
  const std::string pool = fmt::format(".shared .align 128 .b8 {}[{}];", kPool, kStandInBytes);
  ModuleText module{.ptx = std::string(text.substr(0, first)), .dynamic_bytes = {}};
  module.ptx += FunctionsOf(text, pool, first, module);
  return module;
}

fettle::Result<ModuleText> ModuleTextOf(std::string_view given) {
  RETURN_IF_ERROR(CheckPtx(given));
  ASSIGN_OR_RETURN(const std::string text, WithoutEnvironment(given.substr(0, given.find('\0'))));
  const size_t first = std::min(text.find(kEntry), text.size());
  ModuleText module;
  const std::string functions = FunctionsOf(text, "", first, module);
  const size_t head = text.find(kSize) + kSize.size();
  module.ptx = text.substr(0, head);
  if (functions.find(kPool) != std::string::npos)
    module.ptx += fmt::format("\n.extern .shared .align 128 .b8 {}[];\n", kPool);
  module.ptx += text.substr(head, first - head);
  module.ptx += functions;
  return module;
}

}  // namespace fettle::cuda
