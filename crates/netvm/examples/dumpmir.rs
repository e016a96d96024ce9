use netvm::application::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&a[1]).unwrap();
    let dir = std::path::Path::new(&a[1]).parent().unwrap().join("elements");
    let app = Application::read(&a[1], &text, &Reading { elements: vec![dir], ..Default::default() }).unwrap_or_else(|e| panic!("{e}"));
    for i in &app.application().instances {
        if i.class == a[2] {
            let p = i.program().unwrap();
            let o = compiler::optimised(p, netil::module::HandlerKind::Push, &compiler::passes::Options::default()).unwrap().unwrap();
            println!("{}", o.0);
            return;
        }
    }
}
