fn main() {
    for d in [
        cartouche_crds::runnable(),
        cartouche_crds::cluster_run_template(),
    ] {
        println!("---\n{}", serde_saphyr::to_string(&d).unwrap());
    }
}
