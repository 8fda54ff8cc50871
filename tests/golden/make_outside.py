"""Writes outside/: what the attention of torch and of transformers computes, with its weights under headwright's names.

A case is NAME.yaml, a headwright config of one bare layer, and NAME.safetensors, which holds
  x, memory               inputs
  key_mask, memory_mask   true = visible
  seen                     (batch, seq): rows that see some key; others are not compared, since projects differ there
  y                        the output
  pull                     (batch, seq, d_model): the gradient that is sent back from y, zero where a row is not seen
  blocks.0.attention.*     weights
  grad.*                   the gradient of each input and weight
and, as metadata, `wrong`: settings of the config, one a line, each of which has to fail the comparison.

Run: pip install torch==2.13.0 transformers==5.24.0 && python make_outside.py [NAME...]
"""
import inspect
import math
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file
from torch import nn

FOLDER = pathlib.Path(__file__).parent / "outside"
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def lengths(seq, *visible):
    """(batch, seq) bool: the first tokens of each row are visible."""
    return torch.arange(seq) < torch.tensor(visible)[:, None]


def randomise(module, generator):
    """Weights large enough that scores differ; factors of norms stay around 1."""
    for parameter in module.parameters():
        norm = parameter.ndim == 1 and bool((parameter == 1).all())
        spread = 1.5 / math.sqrt(parameter.shape[-1]) if parameter.ndim > 1 else 0.5
        with torch.no_grad():
            parameter.normal_(1.0 if norm else 0.0, spread, generator=generator)


def whole(parameter):
    return parameter, lambda t: t


def linear(name, module):
    """A torch Linear is a headwright Linear: no transpose."""
    return {f"{name}.{key}": whole(parameter) for key, parameter in module.named_parameters()}


def rows(parameter, first, last):
    return parameter, lambda t: t[first:last]


class Capture:
    """x, memory and y of one attention module while its whole model runs: with the model's own masks and positions."""

    def __init__(self, module, memory=None):
        self.names = list(inspect.signature(type(module).forward).parameters)[1:]
        self.memory_name = memory
        self.hooks = [module.register_forward_pre_hook(self.before, with_kwargs=True),
                      module.register_forward_hook(self.after)]

    def before(self, _, args, kwargs):
        given = dict(zip(self.names, args)) | kwargs
        self.x = given["hidden_states"] = given["hidden_states"].detach().requires_grad_()
        self.memory = None
        if self.memory_name:
            self.memory = given[self.memory_name] = given[self.memory_name].detach().requires_grad_()
        if "residual" in given:  # Bloom's module adds it itself
            given["residual"] = torch.zeros_like(self.x)
        return (), given

    def after(self, _, __, output):
        self.y = output[0] if isinstance(output, tuple) else output

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for hook in self.hooks:
            hook.remove()


def ran(model, module, memory=None, **inputs):
    generator = torch.Generator().manual_seed(7)
    randomise(module, generator)
    model.eval()
    with Capture(module, memory) as capture:
        model(**inputs)
    return capture


def written(name, config, source, wrong, *, x, y, weights, memory=None, key_mask=None, memory_mask=None, seen=None):
    """weights: our name below blocks.0.attention -> (their parameter, which part of it is ours)."""
    batch, seq, _ = y.shape
    seen = torch.ones(batch, seq, dtype=torch.bool) if seen is None else seen
    pull = torch.randn(y.shape, generator=torch.Generator().manual_seed(8), dtype=y.dtype) * seen[..., None]
    (y * pull).sum().backward()
    tensors = {"x": x, "y": y, "seen": seen, "pull": pull, "grad.x": x.grad}
    if memory is not None:
        tensors |= {"memory": memory, "grad.memory": memory.grad}
    for key, mask in {"key_mask": key_mask, "memory_mask": memory_mask}.items():
        if mask is not None:
            tensors[key] = mask
    for key, (parameter, part) in weights.items():
        tensors[f"blocks.0.attention.{key}"] = part(parameter)
        tensors[f"grad.blocks.0.attention.{key}"] = part(parameter.grad)
    assert all(tensor.isfinite().all() for tensor in tensors.values())
    tensors = {key: tensor.detach().contiguous().clone() for key, tensor in tensors.items()}
    save_file(tensors, FOLDER / f"{name}.safetensors", {"wrong": "\n".join(wrong)})
    (FOLDER / f"{name}.yaml").write_text(
        f"# yaml-language-server: $schema=../../../configs/schema.json\n"
        f"# Written by make_outside.py.\nname: {name}\ndescription: {source}\n{config.strip()}\n")
    print(f"{name}: {(FOLDER / f'{name}.safetensors').stat().st_size} bytes, largest y {y.abs().max().item():.3g}")


ATTENTION = "model.blocks.only.attention"
TORCH = f"torch {torch.__version__.split('+')[0]}"
TRANSFORMERS = f"transformers {transformers.__version__}"
MASK = lengths(11, 11, 7)
SIZES = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2,
             head_dim=6, vocab_size=10, max_position_embeddings=64, attn_implementation="eager")


def tokens(seq=11):
    return torch.randint(1, 10, (2, seq), generator=torch.Generator().manual_seed(6))


def projections(module):
    """Names that most of transformers' modules share."""
    return (linear("q_proj", module.q_proj) | linear("k_proj", module.k_proj) | linear("v_proj", module.v_proj)
            | linear("out_proj", module.o_proj))


def grouped(attention):
    return f"""
model:
  d_model: 16
  n_heads: 4
  n_kv_heads: 2
  d_head: 6
  blocks:
    only:
      order: plain
      attention:
        {attention.strip()}
run: {{ dtype: float32, seed: 1 }}
"""


# torch

def features(generator, *shape):
    return torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)


def multi_head_weights(module, d):
    return {
        "q_proj.bias": rows(module.in_proj_bias, 0, d),
        "k_proj.bias": rows(module.in_proj_bias, d, 2 * d),
        "v_proj.bias": rows(module.in_proj_bias, 2 * d, 3 * d),
    } | linear("out_proj", module.out_proj)


@case
def torch_multi_head_self(name):
    generator = torch.Generator().manual_seed(1)
    module = nn.MultiheadAttention(16, 4, batch_first=True, dtype=torch.float64)
    randomise(module, generator)
    x, key_mask = features(generator, 2, 9, 16), lengths(9, 9, 5)
    hidden = torch.ones(9, 9, dtype=torch.bool).triu(1)  # true = ignore there
    y, _ = module(x, x, x, key_padding_mask=~key_mask, attn_mask=hidden, need_weights=True)
    weights = multi_head_weights(module, 16) | {
        f"{part}_proj.weight": rows(module.in_proj_weight, 16 * i, 16 * (i + 1)) for i, part in enumerate("qkv")}
    config = """
model:
  d_model: 16
  n_heads: 4
  blocks:
    only: { order: plain, attention: { name: softmax, mask: causal, qkv_bias: true } }
run: { dtype: float64, seed: 1 }
"""
    written(name, config, f"{TORCH}, nn.MultiheadAttention, causal, with padding",
            ["model.n_heads=2", f"{ATTENTION}.mask=full", f"{ATTENTION}.scale=1"],
            x=x, y=y, weights=weights, key_mask=key_mask)


@case
def torch_multi_head_cross(name):
    generator = torch.Generator().manual_seed(2)
    module = nn.MultiheadAttention(16, 2, kdim=12, vdim=12, batch_first=True, dtype=torch.float64)
    randomise(module, generator)
    x, memory, memory_mask = features(generator, 2, 5, 16), features(generator, 2, 7, 12), lengths(7, 3, 7)
    y, _ = module(x, memory, memory, key_padding_mask=~memory_mask, need_weights=True)
    weights = multi_head_weights(module, 16) | {
        f"{part}_proj.weight": whole(getattr(module, f"{part}_proj_weight")) for part in "qkv"}
    config = """
model:
  d_model: 16
  n_heads: 2
  d_memory: 12
  blocks:
    only: { order: plain, attention: { name: softmax, cross: true, qkv_bias: true } }
run: { dtype: float64, seed: 1 }
"""
    written(name, config, f"{TORCH}, nn.MultiheadAttention over a memory of another width, with padding",
            ["model.n_heads=4", f"{ATTENTION}.mask=causal"],
            x=x, y=y, weights=weights, memory=memory, memory_mask=memory_mask)


@case
def torch_grouped_queries(name):
    generator = torch.Generator().manual_seed(3)
    parts = nn.ModuleDict({key: nn.Linear(*sizes, bias=False, dtype=torch.float64) for key, sizes in {
        "q_proj": (16, 24), "k_proj": (16, 12), "v_proj": (16, 12), "out_proj": (24, 16)}.items()})
    randomise(parts, generator)
    x, key_mask = features(generator, 2, 9, 16), lengths(9, 9, 4)
    q, k, v = (parts[f"{part}_proj"](x).unflatten(-1, (-1, 6)).transpose(1, 2) for part in "qkv")
    visible = key_mask[:, None, None] & torch.ones(9, 9, dtype=torch.bool).tril()  # true = attend there
    heads = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=visible, enable_gqa=True)
    y = parts["out_proj"](heads.transpose(1, 2).flatten(-2))
    config = grouped("{ name: softmax, mask: causal, out_bias: false }").replace("float32", "float64")
    written(name, config, f"{TORCH}, scaled_dot_product_attention with enable_gqa",
            [f"{ATTENTION}.mask=full", f"{ATTENTION}.scale=0.5", f"{ATTENTION}.normaliser=softmax_one"],
            x=x, y=y, weights={key: pair for part in parts for key, pair in linear(part, parts[part]).items()},
            key_mask=key_mask)


def recurrent(name, module, ours):
    generator = torch.Generator().manual_seed(4)
    randomise(module, generator)
    x = features(generator, 2, 17, 12)
    y, _ = module(x)
    config = f"""
model:
  d_model: 12
  blocks:
    only: {{ order: plain, attention: {{ name: {ours}, d_out: 10 }} }}
run: {{ dtype: float64, seed: 1 }}
"""
    written(name, config, f"{TORCH}, nn.{type(module).__name__}", [f"{ATTENTION}.bias=false"], x=x, y=y,
            weights={key.removesuffix("_l0"): whole(parameter) for key, parameter in module.named_parameters()})


@case
def torch_rnn(name):
    recurrent(name, nn.RNN(12, 10, batch_first=True, dtype=torch.float64), "rnn")


@case
def torch_lstm(name):
    recurrent(name, nn.LSTM(12, 10, batch_first=True, dtype=torch.float64), "lstm")


# transformers

LLAMA = """
        name: softmax
        mask: causal
        qkv_bias: true
        position: { name: rope, theta: 500 }
"""
ROPE_WRONG = [f"{ATTENTION}.position.layout=interleaved", f"{ATTENTION}.position.partial_rotary_factor=0.67"]


def llama(name, what, mask, *, seen=None, attention=LLAMA, rope_wrong=ROPE_WRONG, wrong=(), **settings):
    settings = {"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}} | settings
    model = transformers.LlamaModel(transformers.LlamaConfig(**(SIZES | settings), attention_bias=True))
    module = model.layers[0].self_attn
    capture = ran(model, module, input_ids=tokens(), attention_mask=mask.long())
    written(name, grouped(attention), f"{TRANSFORMERS}, LlamaAttention{what}", [*rope_wrong, *wrong],
            x=capture.x, y=capture.y, weights=projections(module), key_mask=mask, seen=seen)


@case
def llama_grouped(name):
    llama(name, "", MASK, wrong=[f"{ATTENTION}.mask=full", f"{ATTENTION}.position.theta=400"])


@case
def llama_padded_on_the_left(name):
    mask = MASK.flip(1)  # the first rows of the second sequence see nothing
    llama(name, ", padding on the left", mask, seen=mask)


@case
def llama_linear_scaling(name):
    llama(name, ", angles scaled linearly", MASK,
          rope_parameters={"rope_type": "linear", "rope_theta": 500.0, "factor": 4.0},
          attention=LLAMA.replace("theta: 500", "theta: 500, scaling: linear, factor: 4"),
          wrong=[f"{ATTENTION}.position.factor=3"])


@case
def llama_yarn(name):
    scaled = "theta: 500, scaling: yarn, factor: 4, original_context_length: 16, beta_fast: 4, ramp: whole_pairs"
    llama(name, ", angles scaled by YaRN", MASK,
          rope_parameters={"rope_type": "yarn", "rope_theta": 500.0, "factor": 4.0, "beta_fast": 4.0,
                           "original_max_position_embeddings": 16},
          attention=LLAMA.replace("theta: 500", scaled),
          wrong=[f"{ATTENTION}.position.factor=3", f"{ATTENTION}.position.ramp=turns",
                 f"{ATTENTION}.position.attention_factor=1"])


def scaled(name, what, rope, position, wrong, **settings):
    """rope: what transformers calls it; position: the same as keys of ours."""
    llama(name, what, MASK, rope_parameters={"rope_theta": 500.0} | rope,
          attention=LLAMA.replace("theta: 500", f"theta: 500, {position}"),
          wrong=[f"{ATTENTION}.position.{setting}" for setting in wrong], **settings)


@case
def llama_dynamic_scaling(name):
    scaled(name, ", theta grown with the length, which is beyond the trained one",
           {"rope_type": "dynamic", "factor": 4.0}, "scaling: dynamic, factor: 4, original_context_length: 8",
           ["factor=3", "original_context_length=9"], max_position_embeddings=8)


@case
def llama_llama3_scaling(name):
    scaled(name, ", angles scaled as in Llama 3.1",
           {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 30},
           "scaling: llama3, factor: 8, original_context_length: 30",
           ["factor=3", "low_freq_factor=0.5", "high_freq_factor=16", "original_context_length=64"])


def longrope(name, what, trained, wrong):
    scaled(name, what,
           {"rope_type": "longrope", "short_factor": [1.0, 1.25, 1.75], "long_factor": [1.5, 4.0, 16.0],
            "original_max_position_embeddings": trained},
           f"scaling: longrope, factor: {64 // trained}, original_context_length: {trained}, "
           "short_factor: [1, 1.25, 1.75], long_factor: [1.5, 4, 16]",
           ["factor=2", *wrong], rope_wrong=ROPE_WRONG[:1])  # the lists fit no other number of pairs


@case
def llama_longrope_beyond(name):
    longrope(name, ", angles scaled by LongRoPE, beyond the trained length", 8,
             ["long_factor=[1,1,1]", "original_context_length=16"])


@case
def llama_longrope_within(name):
    longrope(name, ", angles scaled by LongRoPE, within the trained length", 16,
             ["short_factor=[2,2,2]", "original_context_length=8"])


@case
def qwen3(name):
    model = transformers.Qwen3Model(transformers.Qwen3Config(
        **SIZES, rms_norm_eps=1e-5, rope_parameters={"rope_type": "default", "rope_theta": 10000.0}))
    module = model.layers[0].self_attn
    capture = ran(model, module, input_ids=tokens(), attention_mask=MASK.long())
    attention = """
        name: softmax
        mask: causal
        out_bias: false
        qk_norm: rms
        qk_norm_eps: 1.0e-5
        position: rope
"""
    norms = {f"{part}_norm": whole(getattr(module, f"{part}_norm").weight) for part in "qk"}
    written(name, grouped(attention), f"{TRANSFORMERS}, Qwen3Attention, q and k normalised",
            [f"{ATTENTION}.position={{name: rope, layout: interleaved}}", f"{ATTENTION}.qk_norm_eps=0.01"],
            x=capture.x, y=capture.y, weights=projections(module) | norms, key_mask=MASK)


def gemma2(name, layer, mask, wrong, seen=None):
    model = transformers.Gemma2Model(transformers.Gemma2Config(
        **SIZES | {"num_hidden_layers": 2}, query_pre_attn_scalar=10, attn_logit_softcapping=2.0, sliding_window=4,
        layer_types=["sliding_attention", "full_attention"]))
    module = model.layers[layer].self_attn
    capture = ran(model, module, input_ids=tokens(), attention_mask=MASK.long())
    attention = f"""
        name: softmax
        mask: {mask}
        out_bias: false
        modifiers: [{{ softcap: 2 }}]
        scale: {10 ** -0.5}              # 1 / sqrt(query_pre_attn_scalar)
        position: rope
"""
    written(name, grouped(attention), f"{TRANSFORMERS}, Gemma2Attention, {model.config.layer_types[layer]}",
            [f"{ATTENTION}.modifiers=[]", f"{ATTENTION}.modifiers=[{{softcap: 2.1}}]", f"{ATTENTION}.scale=null",
             f"{ATTENTION}.position={{name: rope, layout: interleaved}}", *wrong],
            x=capture.x, y=capture.y, weights=projections(module), key_mask=MASK, seen=seen)


@case
def gemma2_full(name):
    gemma2(name, 1, "causal", [f"{ATTENTION}.mask=full"])


@case
def gemma2_sliding(name):
    seen = lengths(11, 11, 7 + 3)  # the windows of later rows hold padding alone
    gemma2(name, 0, "{ window: 4 }", [f"{ATTENTION}.mask={{window: {size}}}" for size in (3, 5)], seen)


def gpt_oss(name, layer, mask, wrong):
    """Its own scaling of the angles: YaRN over 4096 tokens, whose ramp does not round to whole pairs."""
    model = transformers.GptOssModel(transformers.GptOssConfig(
        **SIZES | {"num_hidden_layers": 2}, num_local_experts=2, num_experts_per_tok=1, sliding_window=4,
        layer_types=["sliding_attention", "full_attention"]))
    module = model.layers[layer].self_attn
    capture = ran(model, module, input_ids=tokens(), attention_mask=MASK.long())
    rope = model.config.rope_parameters
    attention = f"""
        name: softmax
        mask: {mask}
        qkv_bias: true
        sink: true
        position:
          name: rope
          theta: {rope["rope_theta"]}
          scaling: yarn
          factor: {rope["factor"]}
          original_context_length: {rope["original_max_position_embeddings"]}
          ramp: pairs
"""
    weights = projections(module) | {"sink": whole(module.sinks)}
    written(name, grouped(attention), f"{TRANSFORMERS}, GptOssAttention, {model.config.layer_types[layer]}",
            ROPE_WRONG + [f"{ATTENTION}.position.attention_factor=1", f"{ATTENTION}.sink=false", *wrong],
            x=capture.x, y=capture.y, weights=weights, key_mask=MASK)


@case
def gpt_oss_full(name):
    gpt_oss(name, 1, "causal", [f"{ATTENTION}.mask=full"])


@case
def gpt_oss_sliding(name):
    gpt_oss(name, 0, "{ window: 4 }", [f"{ATTENTION}.mask={{window: {size}}}" for size in (3, 5)])


def ungrouped(d_model, n_heads, attention):
    return f"""
model:
  d_model: {d_model}
  n_heads: {n_heads}
  blocks:
    only:
      order: plain
      attention:
        {attention.strip()}
run: {{ dtype: float32, seed: 1 }}
"""


@case
def gpt2(name):
    model = transformers.GPT2Model(transformers.GPT2Config(
        vocab_size=10, n_positions=16, n_embd=16, n_layer=1, n_head=4, attn_implementation="eager"))
    module = model.h[0].attn
    capture = ran(model, module, input_ids=tokens(), attention_mask=MASK.long())

    def third(i, parameter):  # Conv1D: transposed, with q, k and v side by side
        return parameter, lambda t: t.T[16 * i:16 * (i + 1)]

    weights = {"out_proj.weight": (module.c_proj.weight, lambda t: t.T), "out_proj.bias": whole(module.c_proj.bias)}
    for i, part in enumerate("qkv"):
        weights[f"{part}_proj.weight"] = third(i, module.c_attn.weight)
        weights[f"{part}_proj.bias"] = rows(module.c_attn.bias, 16 * i, 16 * (i + 1))
    config = ungrouped(16, 4, "{ name: softmax, mask: causal, qkv_bias: true }")
    written(name, config, f"{TRANSFORMERS}, GPT2Attention", ["model.n_heads=2", f"{ATTENTION}.mask=full"],
            x=capture.x, y=capture.y, weights=weights, key_mask=MASK)


def by_head(parameter, heads, i):
    """Part i of rows that lie as (heads, 3, d_head): q, k and v of each head together."""
    def part(t):
        return t.unflatten(0, (heads, 3, -1))[:, i].flatten(0, 1)
    return parameter, part


def fused(module, output, heads):
    weights = linear("out_proj", output)
    for i, part in enumerate("qkv"):
        for key, parameter in module.named_parameters():
            weights[f"{part}_proj.{key}"] = by_head(parameter, heads, i)
    return weights


@case
def gpt_neox_partial_rotation(name):
    model = transformers.GPTNeoXModel(transformers.GPTNeoXConfig(
        vocab_size=10, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=16,
        max_position_embeddings=64, attn_implementation="eager",
        rope_parameters={"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.5}))
    module = model.layers[0].attention
    capture = ran(model, module, input_ids=tokens(), attention_mask=MASK.long())
    attention = """
        name: softmax
        mask: causal
        qkv_bias: true
        position: { name: rope, partial_rotary_factor: 0.5, theta: 100 }
"""
    written(name, ungrouped(32, 4, attention), f"{TRANSFORMERS}, GPTNeoXAttention, half of the channels turned",
            [f"{ATTENTION}.position.layout=interleaved", f"{ATTENTION}.position.partial_rotary_factor=1"],
            x=capture.x, y=capture.y, weights=fused(module.query_key_value, module.dense, 4), key_mask=MASK)


@case
def gpt_j_interleaved_rotation(name):
    model = transformers.GPTJModel(transformers.GPTJConfig(
        vocab_size=10, n_embd=32, n_layer=1, n_head=4, n_positions=64, rotary_dim=4, attn_implementation="eager"))
    module = model.h[0].attn
    capture = ran(model, module, input_ids=tokens(), attention_mask=MASK.long())
    attention = """
        name: softmax
        mask: causal
        out_bias: false
        position: { name: rope, layout: interleaved, partial_rotary_factor: 0.5 }
"""
    weights = {key: pair for part in ("q_proj", "k_proj", "v_proj", "out_proj")
               for key, pair in linear(part, getattr(module, part)).items()}
    written(name, ungrouped(32, 4, attention), f"{TRANSFORMERS}, GPTJAttention, neighbouring channels turned",
            [f"{ATTENTION}.position.layout=half", f"{ATTENTION}.position.partial_rotary_factor=1"],
            x=capture.x, y=capture.y, weights=weights, key_mask=MASK)


@case
def bloom(name):
    model = transformers.BloomModel(transformers.BloomConfig(
        vocab_size=10, hidden_size=24, n_layer=1, n_head=6, attn_implementation="eager"))
    module = model.h[0].self_attention
    capture = ran(model, module, input_ids=tokens(), attention_mask=MASK.long())
    config = ungrouped(24, 6, "{ name: softmax, mask: causal, qkv_bias: true, position: alibi }")
    written(name, config, f"{TRANSFORMERS}, BloomAttention, linear biases of 6 heads",
            [f"{ATTENTION}.position={{name: alibi, slopes: geometric}}", f"{ATTENTION}.position=null"],
            x=capture.x, y=capture.y, weights=fused(module.query_key_value, module.dense, 6), key_mask=MASK)


@case
def mpt(name):
    model = transformers.MptModel(transformers.MptConfig(
        vocab_size=10, d_model=24, n_layers=1, n_heads=6, max_seq_len=64, attn_implementation="eager"))
    module = model.blocks[0].attn
    capture = ran(model, module, input_ids=tokens(), attention_mask=MASK.long())
    weights = linear("out_proj", module.out_proj) | {
        f"{part}_proj.weight": rows(module.Wqkv.weight, 24 * i, 24 * (i + 1)) for i, part in enumerate("qkv")}
    config = ungrouped(24, 6, "{ name: softmax, mask: causal, out_bias: false, position: alibi }")
    written(name, config, f"{TRANSFORMERS}, MptAttention, linear biases of 6 heads",
            [f"{ATTENTION}.position={{name: alibi, slopes: geometric}}", f"{ATTENTION}.position=null"],
            x=capture.x, y=capture.y, weights=weights, key_mask=MASK)


def t5(name, which, attention, wrong, *, seq, memory=False):
    """which: the model -> one of its attention modules."""
    model = transformers.T5Model(transformers.T5Config(
        vocab_size=10, d_model=16, d_kv=4, d_ff=16, num_layers=1, num_decoder_layers=1, num_heads=4,
        relative_attention_num_buckets=8, relative_attention_max_distance=12, attn_implementation="eager"))
    module = which(model)
    mask = lengths(seq, seq, seq - 6)
    masks = {"attention_mask" if memory or not module.is_decoder else "decoder_attention_mask": mask.long()}
    given = {"input_ids": tokens(seq), "decoder_input_ids": tokens(5 if memory else seq)}
    capture = ran(model, module, memory="key_value_states" if memory else None, **given, **masks)
    weights = {key: pair for ours, theirs in zip(("q_proj", "k_proj", "v_proj", "out_proj"), "qkvo")
               for key, pair in linear(ours, getattr(module, theirs)).items()}
    if module.has_relative_attention_bias:
        weights["position.weight"] = whole(module.relative_attention_bias.weight)
    config = ungrouped(16, 4, f"{{ name: softmax, scale: 1, out_bias: false, {attention} }}")
    side = "its cross-attention" if memory else "of the decoder" if module.is_decoder else "of the encoder"
    written(name, config, f"{TRANSFORMERS}, T5Attention {side}", [f"{ATTENTION}.scale=null", *wrong],
            x=capture.x, y=capture.y, weights=weights, memory=capture.memory,
            **{"memory_mask" if memory else "key_mask": mask})


BUCKETS = "position: { name: relative_bias, n_buckets: 8, max_distance: 12"


@case
def t5_encoder(name):
    t5(name, lambda model: model.encoder.block[0].layer[0].SelfAttention, BUCKETS + " }",
       [f"{ATTENTION}.position.bidirectional=false", f"{ATTENTION}.position.max_distance=8"], seq=17)


@case
def t5_decoder(name):
    t5(name, lambda model: model.decoder.block[0].layer[0].SelfAttention,
       "mask: causal, " + BUCKETS + ", bidirectional: false }",
       [f"{ATTENTION}.position.bidirectional=true", f"{ATTENTION}.position.max_distance=8"], seq=17)


@case
def t5_cross(name):
    t5(name, lambda model: model.decoder.block[0].layer[1].EncDecAttention, "cross: true", ["model.n_heads=2"], seq=11,
       memory=True)


def deepseek_v3(name, what, attention, wrong, **settings):
    settings = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}} | settings
    model = transformers.DeepseekV3Model(transformers.DeepseekV3Config(
        vocab_size=10, hidden_size=16, intermediate_size=16, moe_intermediate_size=8, num_hidden_layers=1,
        num_attention_heads=4, num_key_value_heads=4, n_routed_experts=2, n_group=1, topk_group=1,
        num_experts_per_tok=1, first_k_dense_replace=1, kv_lora_rank=10, qk_rope_head_dim=4, qk_nope_head_dim=6,
        v_head_dim=5, max_position_embeddings=64, attn_implementation="eager", **settings))
    module = model.layers[0].self_attn
    capture = ran(model, module, input_ids=tokens(), attention_mask=MASK.long())
    theirs = {"kv_a_proj": "kv_a_proj_with_mqa", "kv_a_norm": "kv_a_layernorm", "kv_b_proj": "kv_b_proj",
              "out_proj": "o_proj"}
    theirs |= ({"q_proj": "q_proj"} if module.q_lora_rank is None else
               {"q_a_proj": "q_a_proj", "q_a_norm": "q_a_layernorm", "q_b_proj": "q_b_proj"})
    weights = {key: pair for ours, part in theirs.items() for key, pair in linear(ours, getattr(module, part)).items()}
    layer = "name: latent\n        mask: causal\n        d_latent: 10\n        d_nope: 6\n        d_rope: 4\n"
    layer += "        d_value: 5\n" + attention
    written(name, ungrouped(16, 4, layer), f"{TRANSFORMERS}, DeepseekV3Attention{what}", [
        f"{ATTENTION}.position.layout=half", f"{ATTENTION}.mask=full", *wrong],
        x=capture.x, y=capture.y, weights=weights, key_mask=MASK)


@case
def deepseek_v3_latent(name):
    deepseek_v3(name, "", """        d_q_latent: 12
        position: { name: rope, layout: interleaved }
""", [f"{ATTENTION}.scale=0.4"], q_lora_rank=12)


@case
def deepseek_v3_without_query_latent(name):
    deepseek_v3(name, ", queries straight from x", "        position: { name: rope, layout: interleaved }\n", [],
                q_lora_rank=None)


@case
def deepseek_v3_yarn(name):
    """As its released checkpoints: the length of turned pairs stays 1, and the scale grows instead."""
    longer = 0.1 * math.log(40) + 1
    deepseek_v3(name, ", angles scaled by YaRN", f"""        d_q_latent: 12
        scale: {longer ** 2 / math.sqrt(10)}
        position:
          name: rope
          layout: interleaved
          scaling: yarn
          factor: 40
          original_context_length: 16
          ramp: whole_pairs
          attention_factor: 1
""", [f"{ATTENTION}.scale=null", f"{ATTENTION}.position.factor=4"], q_lora_rank=12,
                rope_parameters={"rope_type": "yarn", "rope_theta": 10000.0, "factor": 40.0, "mscale": 1.0,
                                 "mscale_all_dim": 1.0, "original_max_position_embeddings": 16, "beta_fast": 32.0,
                                 "beta_slow": 1.0})


def pairs(parameter, d_head):
    """Their head h and head n / 2 + h are the two maps that ours has at 2 h and 2 h + 1."""
    return parameter, lambda t: t.unflatten(0, (2, -1, d_head)).transpose(0, 1).flatten(0, 2)


@case
def diff_llama(name):
    model = transformers.DiffLlamaModel(transformers.DiffLlamaConfig(
        **SIZES, rope_parameters={"rope_type": "default", "rope_theta": 500.0}))
    module = model.layers[0].self_attn
    module.groupnorm = nn.RMSNorm(12, eps=1e-5)  # theirs has no factors
    capture = ran(model, module, input_ids=tokens(), attention_mask=MASK.long())
    weights = {f"{part}_proj.weight": pairs(getattr(module, f"{part}_proj").weight, 6) for part in "qkv"}
    weights |= linear("out_proj", module.o_proj) | {"sub_norm": whole(module.groupnorm.weight)}
    weights |= {key: whole(getattr(module, key)) for key in ("lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2")}
    attention = """
        name: differential
        mask: causal
        out_bias: false
        position: { name: rope, theta: 500 }
"""
    config = grouped(attention).replace("n_heads: 4", "n_heads: 2").replace("n_kv_heads: 2", "n_kv_heads: 1")
    config = config.replace("d_head: 6", "d_head: 12")
    written(name, config, f"{TRANSFORMERS}, DiffLlamaAttention",
            ROPE_WRONG[:1] + [f"{ATTENTION}.lambda_init=0.3", f"{ATTENTION}.mask=full"],
            x=capture.x, y=capture.y, weights=weights, key_mask=MASK)


@case
def qwen3_next_gated_delta(name):
    heads, d_head, d_value, seq = 2, 6, 5, 67  # longer than a chunk
    model = transformers.Qwen3NextModel(transformers.Qwen3NextConfig(
        **SIZES | {"num_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 8,
                   "shared_expert_intermediate_size": 8},
        linear_num_value_heads=heads, linear_num_key_heads=heads, linear_key_head_dim=d_head,
        linear_value_head_dim=d_value, linear_conv_kernel_dim=4, layer_types=["linear_attention"]))
    module = model.layers[0].linear_attn
    mask = lengths(seq, seq, 41)
    capture = ran(model, module, input_ids=tokens(seq), attention_mask=mask.long(), use_cache=False)

    def of_each_head(parameter, first, last):
        """Rows that lie as (heads, q k v z), or (heads, b a)."""
        return parameter, lambda t: t.unflatten(0, (heads, -1))[:, first:last].flatten(0, 1)

    weights, first = {}, 0
    for part, width in {"q": d_head, "k": d_head, "v": d_value, "g": d_value}.items():
        weights[f"{part}_proj.weight"] = of_each_head(module.in_proj_qkvz.weight, first, first + width)
        first += width
    for i, part in enumerate("ba"):
        weights[f"{part}_proj.weight"] = of_each_head(module.in_proj_ba.weight, i, i + 1)
    weights |= linear("conv", module.conv1d) | linear("out_proj", module.out_proj) | {
        ours: whole(parameter) for ours, parameter in {
            "out_norm": module.norm.weight, "A_log": module.A_log, "dt_bias": module.dt_bias}.items()}
    config = ungrouped(16, heads, "{ name: gated_delta, d_value: 5, conv_size: 4 }").replace(
        "  blocks:", f"  d_head: {d_head}\n  blocks:")
    written(name, config, f"{TRANSFORMERS}, Qwen3NextGatedDeltaNet", [f"{ATTENTION}.eps=0.01"],
            x=capture.x, y=capture.y, weights=weights, key_mask=mask, seen=mask)


@case
def fnet(name):
    model = transformers.FNetModel(transformers.FNetConfig(
        vocab_size=10, hidden_size=16, num_hidden_layers=1, intermediate_size=16, max_position_embeddings=64))
    capture = ran(model, model.encoder.layer[0].fourier.self, input_ids=tokens())
    config = """
model:
  d_model: 16
  blocks:
    only: { order: plain, attention: fourier }
run: { dtype: float32, seed: 1 }
"""
    written(name, config, f"{TRANSFORMERS}, FNetBasicFourierTransform", [f"{ATTENTION}=simple_self_attention"],
            x=capture.x, y=capture.y, weights={})


def main():
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or CASES:
        torch.manual_seed(5)
        CASES[name](name)


if __name__ == "__main__":
    main()
