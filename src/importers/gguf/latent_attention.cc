// Attention to latent rows ("DeepSeek-V2", DeepSeek-AI, 2024, arXiv 2405.04434): keys and values
// are made from one row of `rank` numbers for all heads, beside a turned key that the heads share.
// Files have the matrix that makes them (attn_kv_b), or one for each head (attn_k_b, attn_v_b), by
// which queries and results meet the latent rows themselves: the cache then keeps one head of
// these.
#include "importers/gguf/attention_parts.h"

namespace fettle::gguf {

/// Heads [.., heads, n] of a and b, one behind the other, as rows.
ir::ValueId AttentionParts::JoinedHeads(ir::ValueId a, ir::ValueId b) {
  const ir::ValueId both = Emit("Concat", {a, b}, {{"axis", int64_t{-1}}});
  return Emit("Reshape", {both, packed_shape_});
}

/// Each head of x [.., heads, k] times its own of the matrices `name`.weight [heads, n, k].
Result<ir::ValueId> AttentionParts::EachHead(const std::string& name, ir::ValueId x, int64_t k,
                                             int64_t n) {
  return MatrixEach(name, d_.heads, ir::kAbsent, x, k, n);
}

Result<ir::ValueId> AttentionParts::LatentQueries(const std::string& at, ir::ValueId x) {
  const int64_t size = d_.heads * (d_.latent.plain + d_.latent.turned);
  if (d_.latent.query_rank == 0) return Product(at + "attn_q", x, d_.width, size);
  ASSIGN_OR_RETURN(x, Product(at + "attn_q_a", x, d_.width, d_.latent.query_rank));
  ASSIGN_OR_RETURN(x, Norm(at + "attn_q_a_norm", x, d_.latent.query_rank));
  return Product(at + "attn_q_b", x, d_.latent.query_rank, size);
}

Result<ir::ValueId> AttentionParts::LatentAttention(int64_t layer, const std::string& at,
                                                    ir::ValueId x) {
  const Latent& l = d_.latent;
  const LayerForm& form = d_.forms[layer];
  ASSIGN_OR_RETURN(const ir::ValueId queries, LatentQueries(at, x));
  const std::vector<ir::ValueId> of_query =
      Parts(Shaped(queries, {0, 0, d_.heads, l.plain + l.turned}), l.plain, l.turned);
  const ir::ValueId turned_query =
      Shaped(Turned(form, true, Emit("Reshape", {of_query[1], packed_shape_}), d_.heads),
             {0, 0, d_.heads, l.turned});
  ASSIGN_OR_RETURN(const ir::ValueId rows,
                   Product(at + "attn_kv_a_mqa", x, d_.width, l.rank + l.turned));
  const std::vector<ir::ValueId> of_row = Parts(rows, l.rank, l.turned);
  ASSIGN_OR_RETURN(const ir::ValueId latent, Norm(at + "attn_kv_a_norm", of_row[0], l.rank));
  const ir::ValueId turned_key = Turned(form, false, of_row[1], 1);
  if (l.is_absorbed) {
    ASSIGN_OR_RETURN(const ir::ValueId plain,
                     EachHead(at + "attn_k_b", of_query[0], l.plain, l.rank));
    const ir::ValueId keys = Emit("Concat", {latent, turned_key}, {{"axis", int64_t{-1}}});
    ASSIGN_OR_RETURN(ir::ValueId y,
                     Attended(layer, at, {JoinedHeads(plain, turned_query), keys, latent}));
    ASSIGN_OR_RETURN(
        y, EachHead(at + "attn_v_b", Shaped(y, {0, 0, d_.heads, l.rank}), l.rank, l.value));
    return Product(at + "attn_output", Emit("Reshape", {y, packed_shape_}), d_.heads * l.value,
                   d_.width);
  }
  ASSIGN_OR_RETURN(const ir::ValueId made,
                   Product(at + "attn_kv_b", latent, l.rank, d_.heads * (l.plain + l.value)));
  const std::vector<ir::ValueId> of_made =
      Parts(Shaped(made, {0, 0, d_.heads, l.plain + l.value}), l.plain, l.value);
  const ir::ValueId shared = Emit(
      "Expand", {Shaped(turned_key, {0, 0, 1, l.turned}), Ints(at + "each", {1, 1, d_.heads, 1})});
  ASSIGN_OR_RETURN(const ir::ValueId y, Attended(layer, at,
                                                 {JoinedHeads(of_query[0], turned_query),
                                                  JoinedHeads(of_made[0], shared),
                                                  Emit("Reshape", {of_made[1], packed_shape_})}));
  return Product(at + "attn_output", y, d_.heads * l.value, d_.width);
}

}  // namespace fettle::gguf
