"""Networks of packages for sounds, series, tables and graphs: NETWORKS, by name a function that gives a module and its inputs."""

import importlib

import torch
from more_packages import graph, of, rowed_by
from other_packages import ids

FRAMES, MELS = (1, 100, 80), (1, 80, 100)
SERIES = (1, 3, 128)


def lengths():
    return torch.tensor([100])


def sinks():
    """Edges of 200 nodes, as many from each."""
    return torch.stack([torch.randint(0, 200, (1200,)), torch.arange(1200) % 200])


GRAPH = [(200, 32), sinks]

PHOTO = (1, 3, 256, 256)


def light(*shape):
    return lambda: torch.rand(shape)


class Call(torch.nn.Module):
    """A function with all but its tensors given."""

    def __init__(self, function, **named):
        super().__init__()
        self.function, self.named = function, named

    def forward(self, *tensors):
        return self.function(*tensors, **self.named)


def call(module, name, **named):
    """A network of one function, as `of` makes one of a class."""
    return lambda: Call(getattr(importlib.import_module(module), name), **named)


ROWS = {
    # filters of pictures
    "filters/gaussian": (of("kornia.filters", "GaussianBlur2d", (11, 11), (2.0, 2.0)), [PHOTO]),
    "filters/gaussian_whole": (of("kornia.filters", "GaussianBlur2d", (11, 11), (2.0, 2.0), separable=False), [PHOTO]),
    "filters/box": (of("kornia.filters", "BoxBlur", (5, 5)), [PHOTO]),
    "filters/median": (of("kornia.filters", "MedianBlur", (3, 3)), [PHOTO]),
    "filters/bilateral": (of("kornia.filters", "BilateralBlur", (5, 5), 0.1, (1.5, 1.5)), [light(1, 3, 128, 128)]),
    "filters/guided": (of("kornia.filters", "GuidedBlur", 5, 0.1), [light(1, 3, 128, 128), light(1, 3, 128, 128)]),
    "filters/sobel": (of("kornia.filters", "Sobel"), [light(*PHOTO)]),
    "filters/laplacian": (of("kornia.filters", "Laplacian", 5), [PHOTO]),
    "filters/canny": (of("kornia.filters", "Canny", hysteresis=False), [light(*PHOTO)]),
    "filters/unsharp": (of("kornia.filters", "UnsharpMask", (9, 9), (1.5, 1.5)), [light(*PHOTO)]),
    "filters/pyramid": (of("kornia.geometry", "ScalePyramid", 3, 1.6, 32), [light(1, 1, 128, 128)]),
    "filters/harris": (of("kornia.feature", "CornerHarris", 0.04), [light(1, 1, 256, 256)]),
    "filters/hsv": (of("kornia.color", "RgbToHsv"), [light(*PHOTO)]),
    "filters/lab": (of("kornia.color", "RgbToLab"), [light(*PHOTO)]),
    "filters/ssim": (of("kornia.metrics", "SSIM", 11), [light(*PHOTO), light(*PHOTO)]),
    "filters/sift": (of("kornia.feature", "SIFTDescriptor", 32), [light(32, 1, 32, 32)]),
    "filters/normalise": (of("kornia.enhance", "Normalize", torch.tensor([0.5, 0.4, 0.3]), torch.tensor([0.2, 0.3, 0.4])), [light(*PHOTO)]),
    "filters/motion": (of("kornia.filters", "MotionBlur", 9, 35.0, 0.5), [light(*PHOTO)]),
    "filters/dilation": (call("kornia.morphology", "dilation", kernel=torch.ones(5, 5)), [light(*PHOTO)]),
    "filters/opening": (call("kornia.morphology", "opening", kernel=torch.ones(3, 3)), [light(*PHOTO)]),
    "filters/rotate": (call("kornia.geometry.transform", "rotate", angle=torch.tensor([30.0])), [light(*PHOTO)]),
    "filters/warp": (lambda: Call(importlib.import_module("kornia.geometry.transform").warp_perspective, dsize=(200, 200)),
                     [light(*PHOTO), lambda: torch.eye(3)[None] + 0.001]),
    "filters/remap": (call("kornia.geometry.transform", "remap"), [light(*PHOTO), light(1, 200, 200), light(1, 200, 200)]),
    "filters/pyrdown": (call("kornia.geometry.transform", "pyrdown"), [light(*PHOTO)]),
    "filters/equalise": (call("kornia.enhance", "equalize"), [light(1, 3, 64, 64)]),
    "filters/histogram": (call("kornia.enhance", "image_histogram2d", min=0.0, max=1.0, n_bins=64), [light(1, 1, 64, 64)]),
    "filters/clahe": (call("kornia.enhance", "equalize_clahe"), [light(1, 1, 128, 128)]),
    "filters/yuv": (call("kornia.color", "rgb_to_yuv420"), [light(*PHOTO)]),
    "filters/distance": (call("kornia.contrib", "distance_transform"), [light(1, 1, 64, 64)]),
    "filters/gradient": (call("kornia.filters", "spatial_gradient3d"), [light(1, 1, 32, 64, 64)]),
    "filters/median_5x5": (of("kornia.filters", "MedianBlur", (5, 5)), [PHOTO]),
    "filters/smaller": (call("torchvision.transforms.v2.functional", "resize", size=[100, 120], antialias=True), [light(*PHOTO)]),
    "filters/hue": (call("torchvision.transforms.v2.functional", "adjust_hue", hue_factor=0.2), [light(*PHOTO)]),
    "filters/perspective": (call("torchvision.transforms.v2.functional", "rotate", angle=20.0), [light(*PHOTO)]),
    "filters/sharpness": (call("torchvision.transforms.v2.functional", "adjust_sharpness", sharpness_factor=2.0), [light(*PHOTO)]),
    # sounds
    "sound/mfcc": (of("torchaudio.transforms", "MFCC", melkwargs={"n_fft": 400}), [(1, 16000)]),
    "sound/resample": (of("torchaudio.transforms", "Resample", 16000, 11025), [(1, 16000)]),
    "sound/centroid": (of("torchaudio.transforms", "SpectralCentroid", 16000), [(1, 16000)]),
    "sound/deltas": (of("torchaudio.transforms", "ComputeDeltas"), [(1, 40, 200)]),
    "sound/loudness": (of("torchaudio.transforms", "AmplitudeToDB"), [light(1, 128, 200)]),
    "sound/convolve": (of("torchaudio.transforms", "FFTConvolve"), [(1, 16000), (1, 801)]),
    "sound/conformer": (of("torchaudio.models", "Conformer", input_dim=80, num_heads=4, ffn_dim=128, num_layers=2, depthwise_conv_kernel_size=15),
                        [FRAMES, lengths]),
    "sound/conv_tasnet": (of("torchaudio.models", "ConvTasNet", enc_num_feats=128, msk_num_feats=64, msk_num_hidden_feats=128, msk_num_layers=4,
                             msk_num_stacks=2), [(1, 1, 8000)]),
    "sound/hdemucs": (of("torchaudio.models", "HDemucs", sources=["a", "b"], channels=16, nfft=2048, depth=5), [(1, 2, 16384)]),
    "sound/wavernn": (of("torchaudio.models", "WaveRNN", upsample_scales=[2, 2, 2], n_classes=64, hop_length=8, n_res_block=2, n_rnn=64, n_fc=64,
                         n_freq=40, n_hidden=64, n_output=64), [(1, 1, 128), (1, 1, 40, 20)]),
    "sound/wav2letter": (of("torchaudio.models", "Wav2Letter", input_type="mfcc", num_features=40), [(1, 40, 200)]),
    "sound/deepspeech": (of("torchaudio.models", "DeepSpeech", n_feature=80, n_hidden=256), [(1, 1, 50, 80)]),
    "sound/squim": (of("torchaudio.models", "squim_objective_model", feat_dim=64, win_len=32, d_model=32, nhead=4, hidden_dim=64, num_blocks=1,
                       rnn_type="LSTM", chunk_size=31), [(1, 8000)]),
    "sound/ecapa": (of("speechbrain.lobes.models.ECAPA_TDNN", "ECAPA_TDNN", 80, channels=[128, 128, 128, 128, 384]), [FRAMES]),
    "sound/xvector": (of("speechbrain.lobes.models.Xvector", "Xvector", in_channels=80, tdnn_channels=[256] * 5), [FRAMES]),
    "sound/crdnn": (of("speechbrain.lobes.models.CRDNN", "CRDNN", input_shape=(1, 100, 80), cnn_channels=[16, 32], rnn_neurons=64, rnn_layers=2,
                       dnn_neurons=64), [FRAMES]),
    "sound/speaker_resnet": (of("speechbrain.lobes.models.ResNet", "ResNet", channels=[16, 16, 32, 32]), [FRAMES]),
    "sound/branchformer": (of("speechbrain.lobes.models.transformer.Branchformer", "BranchformerEncoder", num_layers=1, d_model=128, nhead=4,
                              csgu_linear_units=256, attention_type="regularMHA"), [(1, 100, 128)]),
    "sound/cnn14": (of("speechbrain.lobes.models.Cnn14", "Cnn14", mel_bins=64, emb_dim=128), [(1, 1, 100, 64)]),
    "sound/lucid_conformer": (of("conformer", "Conformer", dim=128, depth=2, heads=4, dim_head=32), [(1, 100, 128)]),
    "sound/demucs": (of("denoiser.demucs", "Demucs", hidden=16), [(1, 1, 8000)]),
    "sound/demucs4": (of("demucs.demucs", "Demucs", sources=["a", "b"], channels=16, depth=4, resample=False, lstm_layers=1), [(1, 2, 8192)]),
    "sound/htdemucs": (of("demucs.htdemucs", "HTDemucs", sources=["a", "b"], channels=16, nfft=2048, depth=4, bottom_channels=64, t_layers=2,
                          segment=1, samplerate=16384), [(1, 2, 16384)]),
    "sound/openunmix": (of("openunmix.model", "OpenUnmix", nb_bins=513, hidden_size=128, nb_layers=1), [(1, 2, 513, 50)]),
    "sound/vocos": (of("vocos.models", "VocosBackbone", input_channels=80, dim=192, intermediate_dim=512, num_layers=4), [MELS]),
    "sound/istft_head": (of("vocos.heads", "ISTFTHead", dim=128, n_fft=512, hop_length=128), [(1, 60, 128)]),
    "sound/seanet": (of("encodec.modules", "SEANetEncoder", n_filters=16), [(1, 1, 8000)]),
    "sound/seanet_decoder": (of("encodec.modules", "SEANetDecoder", n_filters=16), [(1, 128, 25)]),
    "sound/dprnn": (of("asteroid.models", "DPRNNTasNet", n_src=2, n_repeats=1, bn_chan=32, hid_size=32), [(1, 4000)]),
    "sound/sudormrf": (of("asteroid.models", "SuDORMRFNet", n_src=2, num_blocks=2, n_filters=128, bn_chan=64), [(1, 8000)]),
    "sound/dptnet": (of("asteroid.models", "DPTNet", n_src=2, n_repeats=1, ff_hid=64), [(1, 4000)]),
    "sound/cqt": (of("nnAudio.features", "CQT", n_bins=48, fmin=110.0), [(1, 22050)]),
    "sound/mel": (of("torchaudio.transforms", "MelSpectrogram", sample_rate=16000, n_fft=400), [(1, 16000)]),
    "sound/griffin_lim": (of("torchaudio.transforms", "GriffinLim", n_fft=256, n_iter=4, rand_init=False), [lambda: torch.rand(1, 129, 50)]),
    "sound/crepe": (of("torchcrepe", "Crepe", "tiny"), [(8, 1024)]),
    # series
    "series/tcn": (of("pytorch_tcn", "TCN", 3, [64, 64, 64]), [SERIES]),
    "series/inception_time": (of("tsai.models.InceptionTime", "InceptionTime", 3, 5), [SERIES]),
    "series/xception_time": (of("tsai.models.XceptionTime", "XceptionTime", 3, 5), [SERIES]),
    "series/omniscale": (of("tsai.models.OmniScaleCNN", "OmniScaleCNN", 3, 5, 128), [SERIES]),
    "series/tst": (of("tsai.models.TSTPlus", "TSTPlus", 3, 5, 128), [SERIES]),
    "series/perceiver": (of("tsai.models.TSPerceiver", "TSPerceiver", 3, 5, 128), [SERIES]),
    "series/patch_tst": (of("tsai.models.PatchTST", "PatchTST", c_in=3, c_out=3, seq_len=128, pred_dim=32), [SERIES]),
    "series/gmlp": (of("tsai.models.gMLP", "gMLP", 3, 5, 128), [SERIES]),
    "series/wavelets": (of("tsai.models.mWDN", "mWDN", 3, 5, 128), [SERIES]),
    "series/sequencer": (of("tsai.models.TSSequencerPlus", "TSSequencerPlus", 3, 5, 128), [SERIES]),
    "series/xcm": (of("tsai.models.XCM", "XCM", 3, 5, 128), [SERIES]),
    "series/gru_fcn": (of("tsai.models.RNN_FCN", "MGRU_FCN", 3, 5, 128), [SERIES]),
    "series/hydra": (of("tsai.models.HydraPlus", "HydraPlus", 3, 5, 128), [SERIES]),
    "series/closed_form": (of("ncps.torch", "CfC", 16, 64), [(1, 32, 16)]),
    # tables
    "tables/ft_transformer": (of("rtdl_revisiting_models", "FTTransformer", n_cont_features=8, cat_cardinalities=[10, 20], d_out=1, n_blocks=2, d_block=96,
                                 attention_n_heads=8, attention_dropout=0.0, ffn_d_hidden_multiplier=1.3, ffn_dropout=0.0, residual_dropout=0.0),
                              [(256, 8), ids(10, 256, 2)]),
    "tables/tabnet": (of("pytorch_tabnet.tab_network", "TabNet", 32, 4, group_attention_matrix=torch.eye(32)), [(256, 32)]),
    # graphs
    "graphs/gcn": (graph("GCN", 32, 64, 3), GRAPH),
    "graphs/sage": (graph("GraphSAGE", 32, 64, 3), GRAPH),
    "graphs/sage_max": (graph("GraphSAGE", 32, 64, 3, aggr="max"), GRAPH),
    "graphs/gin": (graph("GIN", 32, 64, 3), GRAPH),
    "graphs/gat": (graph("GAT", 32, 64, 3, heads=4), GRAPH),
    "graphs/gat2": (graph("GAT", 32, 64, 3, heads=4, v2=True), GRAPH),
    "graphs/pna": (graph("PNA", 32, 64, 2, aggregators=["mean", "min", "max", "std"], scalers=["identity", "amplification"],
                         deg=torch.tensor([0, 0, 10, 50, 100, 40])), GRAPH),
    "graphs/edge_cnn": (graph("EdgeCNN", 32, 64, 2), GRAPH),
    "graphs/cheb": (graph("ChebConv", 32, 64, 4), GRAPH),
    "graphs/transformer": (graph("TransformerConv", 32, 16, heads=4), GRAPH),
    "graphs/gated": (graph("GatedGraphConv", 32, 3), GRAPH),
    "graphs/tag": (graph("TAGConv", 32, 64), GRAPH),
    "graphs/gps": (lambda: graph("GPSConv", 32, graph("SAGEConv", 32, 32)(), heads=4)(), GRAPH),
    "graphs/attentive": (graph("AttentiveFP", 32, 64, 8, edge_dim=8, num_layers=2, num_timesteps=2),
                         [(200, 32), sinks, (1200, 8), lambda: torch.arange(200) // 20]),
    "graphs/unet": (graph("GraphUNet", 32, 64, 8, depth=2), GRAPH),
}

NETWORKS = {f"packages/{name}": lambda name=name: rowed_by(ROWS, name) for name in ROWS}
