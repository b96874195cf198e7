use kube::core::Status;

use super::explain_error;

fn said_of(message: &str) -> String {
    let status = Status::failure(message, "Forbidden").with_code(403);
    let error = kube::Error::Api(Box::new(status));
    explain_error("a dry run of Job", error).to_string()
}

#[test]
fn only_a_missing_permission_is_to_be_asked_for() {
    for missing in [
        r#"jobs.batch is forbidden: User "ada" cannot create resource "jobs" in API group "batch" in the namespace "q""#,
        r#"serviceaccounts "app" is forbidden: User "ada" cannot impersonate resource "serviceaccounts" in API group """#,
    ] {
        let said = said_of(missing);
        assert!(said.contains("ask for that permission"), "{said}");
    }
    let account = r#"jobs.batch is forbidden: User "system:serviceaccount:q:app" cannot create resource "jobs" in API group "batch" in the namespace "q""#;
    let said = said_of(account);
    assert!(
        said.ends_with("`cartouche rbac` prints the Role that a ServiceAccount needs to make runs"),
        "{said}"
    );
    let template = r#"clusterruntemplates.carto.run "greet" is forbidden: User "ada" cannot get resource "clusterruntemplates" in API group "carto.run" at the cluster scope"#;
    let said = said_of(template);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines[0],
        "a dry run of Job needs a permission that you lack: the ClusterRole cartouche-templates-view has it"
    );
    assert!(
        lines[1].starts_with("hint: ask for a ClusterRoleBinding"),
        "{said}"
    );
    assert!(lines[2].ends_with(template), "{said}");
    for refused in [
        r#"jobs.batch "hello-1" is forbidden: exceeded quota: jobs, requested: count/jobs.batch=1, used: 1, limited: 1"#,
        r#"jobs.batch "hello-1" is forbidden: ValidatingAdmissionPolicy 'team' denied request: User names cannot be empty"#,
    ] {
        let said = said_of(refused);
        assert_eq!(said, format!("a dry run of Job: {refused}"));
    }
}
