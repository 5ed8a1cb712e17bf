#include "importers/gguf/architecture.h"

namespace fettle::gguf {
namespace {

constexpr Gating kGelu = {.gelu = true};
constexpr Architecture kArchitectures[] = {
    {.name = "bailingmoe", .interleaved = true, .mixes = true},
    {.name = "deepseek", .interleaved = true, .mixes = true},
    {.name = "dots1", .mixes = true, .sigmoid = true},
    {.name = "ernie4_5", .interleaved = true},
    {.name = "ernie4_5-moe", .interleaved = true, .mixes = true, .normalised = true},
    {.name = "exaone"},
    {.name = "exaone4",
     .norms_before = false,
     .norms_after = true,
     .window_period = 4,
     .only_windows_turn = true},
    {.name = "gemma", .gating = kGelu, .scales_embedding = true},
    {.name = "gemma2",
     .gating = kGelu,
     .scales_embedding = true,
     .norms_after = true,
     .window_period = 2,
     .attention_cap = 50,
     .logit_cap = 30,
     .wide_layers = 46},
    {.name = "gemma3",
     .gating = kGelu,
     .scales_embedding = true,
     .norms_after = true,
     .window_period = 6,
     .windows_stay = true,
     .window_base = 10000,
     .wide_layers = 62},
    {.name = "glm4", .interleaved = true, .norms_after = true},
    {.name = "glm4moe", .mixes = true, .sigmoid = true, .feed_norm = "post_attention_norm"},
    {.name = "gpt-oss",
     .gating = {.slope = 1.702, .limit = 7, .shift = 1},
     .window_period = 2,
     .mixes = true,
     .normalised = true,
     .feed_norm = "post_attention_norm"},
    {.name = "granite", .interleaved = true},
    {.name = "granitemoe", .interleaved = true, .mixes = true, .normalised = true},
    {.name = "internlm2", .interleaved = true},
    {.name = "llama", .interleaved = true, .normalised = true},
    {.name = "olmo2",
     .norms_before = false,
     .norms_after = true,
     .window_period = 4,
     .windows_stay = true},
    {.name = "olmoe", .mixes = true},
    {.name = "phi3"},
    {.name = "qwen2"},
    {.name = "qwen2moe", .mixes = true},
    {.name = "qwen3"},
    {.name = "qwen3moe", .mixes = true, .normalised = true},
    {.name = "smollm3", .interleaved = true, .bare_period = 4},
};

}  // namespace

Result<const Architecture*> FindArchitecture(const std::string& name) {
  std::string names;
  for (const Architecture& row : kArchitectures) {
    if (row.name == name) return &row;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  }
  return Unsupported("architecture '{}' is not supported; supported: {}", name, names);
}

}  // namespace fettle::gguf
