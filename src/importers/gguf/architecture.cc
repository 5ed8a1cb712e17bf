#include "importers/gguf/architecture.h"

namespace fettle::gguf {
namespace {

constexpr Gating kGelu = {.activation = Activation::kGelu};
constexpr Gating kGeluAlone = {.activation = Activation::kGelu, .alone = true};
constexpr Gating kExactGeluAlone = {.activation = Activation::kExactGelu, .alone = true};
constexpr Gating kSquaredReluAlone = {.activation = Activation::kSquaredRelu, .alone = true};
constexpr Architecture kArchitectures[] = {
    {.name = "arcee", .interleaved = true, .gating = kSquaredReluAlone},
    {.name = "baichuan", .interleaved = true, .sloped = true, .sloped_layers = 40},
    {.name = "bailingmoe", .interleaved = true, .mixes = true},
    {.name = "bailingmoe2", .mixes = true, .sigmoid = true, .normalised = true},
    {.name = "bloom", .gating = kGeluAlone, .centred = true, .sloped = true},
    {.name = "chatglm", .interleaved = true},
    {.name = "codeshell", .gating = kGeluAlone, .centred = true},
    {.name = "cohere2",
     .interleaved = true,
     .centred = true,
     .parallel = true,
     .window_period = 4,
     .only_windows_turn = true,
     .multiplies_logits = true},
    {.name = "command-r",
     .interleaved = true,
     .centred = true,
     .parallel = true,
     .multiplies_logits = true},
    {.name = "deepseek", .interleaved = true, .mixes = true},
    {.name = "deepseek2", .interleaved = true, .latent = true},
    {.name = "dots1", .mixes = true, .sigmoid = true},
    {.name = "ernie4_5", .interleaved = true},
    {.name = "ernie4_5-moe", .interleaved = true, .mixes = true, .normalised = true},
    {.name = "exaone"},
    {.name = "exaone4",
     .norms_before = false,
     .norms_after = true,
     .window_period = 4,
     .only_windows_turn = true},
    {.name = "falcon", .gating = kExactGeluAlone, .centred = true, .parallel = true},
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
    {.name = "gpt2", .gating = kGeluAlone, .centred = true, .learned_positions = true},
    {.name = "gptneox", .gating = kExactGeluAlone, .centred = true, .parallel_by_flag = true},
    {.name = "gpt-oss",
     .gating = {.slope = 1.702, .limit = 7, .shift = 1},
     .window_period = 2,
     .mixes = true,
     .normalised = true,
     .feed_norm = "post_attention_norm"},
    {.name = "granite", .interleaved = true},
    {.name = "granitemoe", .interleaved = true, .mixes = true, .normalised = true},
    {.name = "hunyuan-dense", .norms_turned = true},
    {.name = "hunyuan-moe", .norms_turned = true, .mixes = true, .normalised = true},
    {.name = "internlm2", .interleaved = true},
    {.name = "jais2", .gating = kSquaredReluAlone, .centred = true},
    {.name = "llama", .interleaved = true, .normalised = true},
    {.name = "minicpm", .interleaved = true, .scales_depth = true},
    {.name = "minicpm3", .latent = true, .scales_depth = true},
    {.name = "minimax-m2", .mixes = true, .sigmoid = true, .normalised = true},
    {.name = "mistral3", .interleaved = true, .normalised = true},
    {.name = "mpt", .gating = kExactGeluAlone, .centred = true, .sloped = true},
    {.name = "nemotron", .gating = kSquaredReluAlone, .centred = true},
    {.name = "olmo", .interleaved = true, .centred = true, .plain_norms = true},
    {.name = "olmo2",
     .norms_before = false,
     .norms_after = true,
     .window_period = 4,
     .windows_stay = true},
    {.name = "olmoe", .mixes = true},
    {.name = "orion", .centred = true},
    {.name = "pangu-embedded"},
    {.name = "phi2", .gating = kGeluAlone, .centred = true, .parallel = true},
    {.name = "phi3"},
    {.name = "plamo", .parallel = true},
    {.name = "qwen2"},
    {.name = "qwen2moe", .mixes = true},
    {.name = "qwen2vl"},
    {.name = "qwen3"},
    {.name = "qwen3moe", .mixes = true, .normalised = true},
    {.name = "qwen3vl"},
    {.name = "qwen3vlmoe", .mixes = true, .normalised = true},
    {.name = "refact", .sloped = true},
    {.name = "seed_oss", .feed_norm = "post_attention_norm"},
    {.name = "smollm3", .interleaved = true, .bare_period = 4},
    {.name = "stablelm", .centred = true, .parallel = true},
    {.name = "starcoder", .gating = kGeluAlone, .centred = true, .learned_positions = true},
    {.name = "starcoder2", .gating = kGeluAlone, .centred = true},
    {.name = "xverse", .interleaved = true},
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
