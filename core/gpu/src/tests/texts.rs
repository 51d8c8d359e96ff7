//! The texts of all kernels are valid, and can be translated to the languages of all platforms.

use causerie_backend::Format;
use naga::back::{hlsl, msl, spv};
use naga::valid::{Capabilities, ValidationFlags, Validator};

use crate::kernels::*;

fn all_kernels() -> Vec<Kernel> {
    let mut all = vec![
        Kernel::CopyItem,
        Kernel::Choose { is_last: false },
        Kernel::Choose { is_last: true },
        Kernel::Receipt,
        Kernel::Probe,
        Kernel::DeltaConvolve,
        Kernel::UnitHeads,
        Kernel::DeltaNet,
        Kernel::AddWeighted,
        Kernel::ChooseExperts,
        Kernel::AddChosen,
    ];
    for has_bias in [false, true] {
        for form in Format::ALL.map(WeightForm) {
            for tokens in
                [1, 2, 4].into_iter().filter(|tokens| *tokens <= form.tokens_of_few() as u32 || !form.0.is_quantised())
            {
                all.push(match form.0.is_quantised() {
                    true => Kernel::ProductOfFew { form, tokens, has_bias },
                    false => Kernel::ProductOfFloats { form, tokens, has_bias },
                });
            }
            if form.0.is_quantised() {
                all.extend([Kernel::ProductOfMany { form, has_bias }, Kernel::ProductOfChosen { form }]);
            }
            all.push(Kernel::Embed(form));
        }
        for is_quantised in [false, true] {
            all.push(Kernel::Norm { is_quantised });
            all.push(Kernel::RowInputs { is_gated: has_bias, is_quantised });
            all.push(Kernel::Convolve { has_bias, is_quantised });
            all.extend([GateCurve::Silu, GateCurve::GeluTanh].map(|curve| Kernel::Gate { curve, is_quantised }));
        }
        all.push(Kernel::AddRows { has_norm: has_bias });
        let rotations = [None, Some(PairForm::Halves), Some(PairForm::Neighbours)];
        all.extend(rotations.map(|rotation| Kernel::Rotate { has_norm: has_bias, rotation }));
    }
    for format in [CacheFormat::F32, CacheFormat::F16, CacheFormat::Q8_0] {
        for head_dim in [64, 80, 96, 128, 256] {
            for end in [
                AttentionEnd::Rows,
                AttentionEnd::Inputs { is_quantised: true },
                AttentionEnd::Inputs { is_quantised: false },
            ] {
                all.push(Kernel::Attention { format, head_dim, end });
            }
            for rotation in [None, Some(PairForm::Halves), Some(PairForm::Neighbours)] {
                for (has_queries, has_norms) in [(false, false), (true, false), (true, true)] {
                    all.push(Kernel::Append { format, head_dim, has_queries, has_norms, rotation });
                }
            }
        }
    }
    all.extend(
        [MapForm::Scale, MapForm::Sigmoid, MapForm::Decay, MapForm::Bound, MapForm::Grow, MapForm::Mix]
            .map(Kernel::Map),
    );
    let quantised = || Format::ALL.into_iter().filter(|format| format.is_quantised()).map(WeightForm);
    for (form, other) in quantised().zip(quantised().cycle().skip(1)) {
        let (n_columns, forms) = (4096, [Some(form), Some(other), Some(form)]);
        all.push(Kernel::ProductOfRow { front: RowFront::Norm, forms, n_columns, end: RowEnd::Outputs });
        let forms = [Some(form), Some(other), None];
        for (curve, is_quantised) in [(GateCurve::Silu, true), (GateCurve::GeluTanh, false)] {
            let end = RowEnd::Gate { curve, is_quantised };
            all.push(Kernel::ProductOfRow { front: RowFront::Norm, forms, n_columns, end });
        }
    }
    for form in quantised() {
        for has_bias in [false, true] {
            let (front, forms) = (RowFront::Convolution { has_bias }, [Some(form), None, None]);
            all.push(Kernel::ProductOfRow { front, forms, n_columns: 4096, end: RowEnd::Outputs });
        }
        let forms = [Some(form), None, None];
        all.push(Kernel::ProductOfRow { front: RowFront::Norm, forms, n_columns: 4096, end: RowEnd::Outputs });
    }
    let gathers = [GatherForm::Columns, GatherForm::Select, GatherForm::Heads, GatherForm::Upload];
    all.extend(gathers.map(Kernel::Gather));
    all
}

#[test]
fn every_text_becomes_metals_vulkans_and_direct3ds_language() {
    for kernel in all_kernels() {
        let text = kernel.source(MultiplyAdd::Fused);
        let module = naga::front::wgsl::parse_str(&text)
            .unwrap_or_else(|err| panic!("{kernel:?}: {}\n{text}", err.emit_to_string(&text)));
        let capabilities = Capabilities::IMMEDIATES | Capabilities::SHADER_FLOAT16_IN_FLOAT32;
        let info = Validator::new(ValidationFlags::all(), capabilities)
            .validate(&module)
            .unwrap_or_else(|err| panic!("{kernel:?}: {}", err.emit_to_string(&text)));
        let pipeline = msl::PipelineOptions::default();
        let options = msl::Options { fake_missing_bindings: true, lang_version: (3, 0), ..msl::Options::default() };
        let (metal, _) = msl::write_string(&module, &info, &options, &pipeline).unwrap();
        assert!(metal.contains("kernel void"), "{kernel:?}");
        let words = spv::write_vec(&module, &info, &spv::Options::default(), None).unwrap();
        assert_eq!(words.first(), Some(&0x0723_0203), "{kernel:?}");
        let mut hlsl_text = String::new();
        let hlsl_options = hlsl::Options {
            shader_model: hlsl::ShaderModel::V6_4,
            fake_missing_bindings: true,
            immediates_target: Some(hlsl::BindTarget::default()),
            ..hlsl::Options::default()
        };
        hlsl::Writer::new(&mut hlsl_text, &hlsl_options, &hlsl::PipelineOptions::default())
            .write(&module, &info, None)
            .unwrap_or_else(|err| panic!("{kernel:?}: {err}"));
        assert!(hlsl_text.contains("numthreads"), "{kernel:?}");
    }
}

#[test]
fn workgroups_need_no_more_memory_than_every_device_has() {
    for kernel in all_kernels() {
        let module = naga::front::wgsl::parse_str(&kernel.source(MultiplyAdd::Fused)).unwrap();
        let mut layouter = naga::proc::Layouter::default();
        layouter.update(module.to_ctx()).unwrap();
        let shared = module.global_variables.iter().filter(|(_, global)| global.space == naga::AddressSpace::WorkGroup);
        let n_bytes: u32 = shared.map(|(_, global)| layouter[global.ty].size).sum();
        assert!(n_bytes <= 16 << 10, "{kernel:?}: {n_bytes} bytes");
    }
}
